// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace holdfast {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

Certificate ToPem(X509* certificate, EVP_PKEY* key) {
  BIO* const certificate_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  BIO* const key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr,
                           nullptr);
  return {Text(certificate_text), Text(key_text)};
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Ptr Unsigned(const std::string& name, long serial,
                 CertificateAuthority::Validity validity, EVP_PKEY* key) {
  X509Ptr certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), validity.begin);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), validity.end);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Signer {
  Key key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  X509Ptr certificate;
  long last_serial = 1;

  explicit Signer(Validity validity)
      : certificate(Unsigned("test authority", 1, validity, key.get())) {}

  void Sign(X509* other) {
    X509_set_issuer_name(other, X509_get_subject_name(certificate.get()));
    X509_sign(other, key.get(), EVP_sha256());
  }
};

CertificateAuthority::CertificateAuthority()
    : CertificateAuthority(Validity()) {}

CertificateAuthority::CertificateAuthority(Validity validity)
    : signer_(std::make_unique<Signer>(validity)) {
  AddExtension(signer_->certificate.get(), NID_basic_constraints,
               "critical,CA:TRUE");
  signer_->Sign(signer_->certificate.get());
  own_ = ToPem(signer_->certificate.get(), signer_->key.get());
}

CertificateAuthority::~CertificateAuthority() = default;

Certificate CertificateAuthority::Issue(const std::string& name) {
  return Issue(name, Validity());
}

Certificate CertificateAuthority::Issue(const std::string& name,
                                        Validity validity) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const X509Ptr certificate =
      Unsigned(name, ++signer_->last_serial, validity, key.get());
  AddExtension(certificate.get(), NID_subject_alt_name, "DNS:" + name);
  signer_->Sign(certificate.get());
  return ToPem(certificate.get(), key.get());
}

}  // namespace holdfast
