// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/token_issuer.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

std::string TakeText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

}  // namespace

TokenIssuer::TokenIssuer(evp_pkey_st* key, std::string algorithm)
    : key_(key, EVP_PKEY_free), algorithm_(std::move(algorithm)) {}

TokenIssuer TokenIssuer::Rsa(unsigned bits) {
  return {EVP_RSA_gen(bits), "RS256"};
}

TokenIssuer TokenIssuer::Ed25519() {
  return {EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), "EdDSA"};
}

TokenIssuer TokenIssuer::FixedEd25519() {
  const std::string seed(32, '\7');
  return {EVP_PKEY_new_raw_private_key(
              EVP_PKEY_ED25519, nullptr,
              reinterpret_cast<const unsigned char*>(seed.data()), seed.size()),
          "EdDSA"};
}

TokenIssuer TokenIssuer::EllipticCurve() {
  return {EVP_EC_gen("P-256"), "ES256"};
}

std::string TokenIssuer::public_key() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key_.get());
  return TakeText(bio);
}

std::string TokenIssuer::private_key() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr,
                           nullptr);
  return TakeText(bio);
}

std::string TokenIssuer::Jwk(absl::string_view id,
                             absl::string_view more) const {
  std::string key;
  if (algorithm_ == "EdDSA") {
    std::string x(32, '\0');
    size_t size = x.size();
    EVP_PKEY_get_raw_public_key(
        key_.get(), reinterpret_cast<unsigned char*>(x.data()), &size);
    key = absl::StrCat(R"("kty":"OKP","crv":"Ed25519","x":")",
                       absl::WebSafeBase64Escape(x), "\"");
  } else {
    const auto number = [this](const char* name) {
      BIGNUM* value = nullptr;
      EVP_PKEY_get_bn_param(key_.get(), name, &value);
      std::string bytes(static_cast<size_t>(BN_num_bytes(value)), '\0');
      BN_bn2bin(value, reinterpret_cast<unsigned char*>(bytes.data()));
      BN_free(value);
      return absl::WebSafeBase64Escape(bytes);
    };
    key = absl::StrCat(R"("kty":"RSA","n":")", number("n"), R"(","e":")",
                       number("e"), "\"");
  }
  if (!id.empty()) absl::StrAppend(&key, R"(,"kid":")", id, "\"");
  if (!more.empty()) absl::StrAppend(&key, ",", more);
  return absl::StrCat("{", key, "}");
}

std::string TokenIssuer::Sign(absl::string_view claims) const {
  return SignWithHeader(
      absl::StrCat(R"({"alg":")", algorithm_, R"(","typ":"JWT"})"), claims);
}

std::string TokenIssuer::SignWithHeader(absl::string_view header,
                                        absl::string_view claims) const {
  const std::string text = Unsigned(header, claims);
  return absl::StrCat(text, ".", absl::WebSafeBase64Escape(Signature(text)));
}

std::string TokenIssuer::Signature(absl::string_view text) const {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestSignInit(context, nullptr,
                     algorithm_ == "EdDSA" ? nullptr : EVP_sha256(), nullptr,
                     key_.get());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  EVP_DigestSign(context, nullptr, &size, bytes, text.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()),
                 &size, bytes, text.size());
  signature.resize(size);
  EVP_MD_CTX_free(context);
  return signature;
}

std::string Unsigned(absl::string_view header, absl::string_view claims) {
  return absl::StrCat(absl::WebSafeBase64Escape(header), ".",
                      absl::WebSafeBase64Escape(claims));
}

}  // namespace holdfast
