// SPDX-License-Identifier: Apache-2.0
#include "client/bench/loopback_certificate.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/status/status.h"

namespace holdfast::bench {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr long kLifeSeconds = 24 * 60 * 60;

std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

bool SetName(X509* certificate) {
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("localhost");
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1,
                                    0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1;
}

bool SetAddress(X509* certificate) {
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)>
      extension(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                                    "IP:127.0.0.1"),
                X509_EXTENSION_free);
  return extension != nullptr &&
         X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool Fill(X509* certificate, EVP_PKEY* key) {
  constexpr long kVersion3 = 2;
  return X509_set_version(certificate, kVersion3) == 1 &&
         ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -60) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kLifeSeconds) !=
             nullptr &&
         X509_set_pubkey(certificate, key) == 1 && SetName(certificate) &&
         SetAddress(certificate) &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

absl::StatusOr<LoopbackCertificate> LoopbackCertificate::Make() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(),
                                                                X509_free);
  const Bio certificate_text(BIO_new(BIO_s_mem()), BIO_free);
  const Bio key_text(BIO_new(BIO_s_mem()), BIO_free);
  if (key == nullptr || certificate == nullptr ||
      !Fill(certificate.get(), key.get()) ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0,
                               nullptr, nullptr) != 1) {
    return absl::InternalError("a certificate for loopback cannot be made");
  }
  return LoopbackCertificate{TextOf(certificate_text), TextOf(key_text)};
}

}  // namespace holdfast::bench
