// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_CERTIFICATES_H_
#define HOLDFAST_TESTS_SERVER_TESTING_CERTIFICATES_H_

#include <memory>
#include <string>

namespace holdfast {

// PEM texts.
struct Certificate {
  std::string certificate;
  std::string key;
};

// An authority that lives as long as a test. Its certificates are good for an
// hour, unless a test wants others.
class CertificateAuthority {
 public:
  CertificateAuthority();
  ~CertificateAuthority();

  const std::string& certificate() const { return own_.certificate; }

  // Seconds from now.
  struct Validity {
    long begin = -60;
    long end = 3600;
  };
  // For a server or a client of this common name, which is also its DNS name.
  Certificate Issue(const std::string& name);
  Certificate Issue(const std::string& name, Validity validity);

 private:
  struct Signer;

  std::unique_ptr<Signer> signer_;
  Certificate own_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_CERTIFICATES_H_
