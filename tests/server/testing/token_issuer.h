// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_TOKEN_ISSUER_H_
#define HOLDFAST_TESTS_SERVER_TESTING_TOKEN_ISSUER_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace holdfast {

// Signs tokens with a key of its own.
class TokenIssuer {
 public:
  static TokenIssuer Rsa(unsigned bits = 2048);
  static TokenIssuer Ed25519();
  // Returns an issuer with the same key in every run, so that runs are
  // reproducible.
  static TokenIssuer FixedEd25519();
  static TokenIssuer EllipticCurve();  // P-256, which daemons refuse

  // PEM texts.
  std::string public_key() const;
  std::string private_key() const;
  // Returns the public key, RSA or Ed25519, as a JSON Web Key. `id`: "kid", if
  // not empty. `more`: further members, as JSON text.
  std::string Jwk(absl::string_view id, absl::string_view more = "") const;

  // Returns a token with these claims, a JSON text, and the key's algorithm.
  std::string Sign(absl::string_view claims) const;
  // The same with this header, which is not checked.
  std::string SignWithHeader(absl::string_view header,
                             absl::string_view claims) const;
  // Returns the signature of a text as raw bytes.
  std::string Signature(absl::string_view text) const;

 private:
  TokenIssuer(evp_pkey_st* key, std::string algorithm);

  std::shared_ptr<evp_pkey_st> key_;
  std::string algorithm_;
};

// Returns the signed parts of a token: the encoded header and claims, joined by
// a dot.
std::string Unsigned(absl::string_view header, absl::string_view claims);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_TOKEN_ISSUER_H_
