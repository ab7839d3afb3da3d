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

// A certificate authority for one test. Its certificates are valid for an hour
// by default.
class CertificateAuthority {
 public:
  // Seconds from now.
  struct Validity {
    long begin = -60;
    long end = 3600;
  };

  CertificateAuthority();
  explicit CertificateAuthority(Validity validity);
  ~CertificateAuthority();

  const std::string& certificate() const { return own_.certificate; }

  // Issues a certificate for a server or a client. `name` is its common name
  // and its DNS name.
  Certificate Issue(const std::string& name);
  Certificate Issue(const std::string& name, Validity validity);

 private:
  struct Signer;

  std::unique_ptr<Signer> signer_;
  Certificate own_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_CERTIFICATES_H_
