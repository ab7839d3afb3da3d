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
  // One whose key is the same in every run, so that a seed repeats a run.
  static TokenIssuer FixedEd25519();
  static TokenIssuer EllipticCurve();  // which no daemon takes

  // PEM texts.
  std::string public_key() const;
  std::string private_key() const;
  // The public key as a JSON Web Key, RSA or Ed25519, with more members.
  std::string Jwk(absl::string_view id, absl::string_view more = "") const;

  // Returns a token with these claims, a JSON text, and the key's algorithm.
  std::string Sign(absl::string_view claims) const;
  // The same with a header of one's own, whatever it says.
  std::string SignWithHeader(absl::string_view header,
                             absl::string_view claims) const;
  // The signature over a text, with no encoding.
  std::string Signature(absl::string_view text) const;

 private:
  TokenIssuer(evp_pkey_st* key, std::string algorithm);

  std::shared_ptr<evp_pkey_st> key_;
  std::string algorithm_;
};

// The two parts of a token that are signed, with the dot between them.
std::string Unsigned(absl::string_view header, absl::string_view claims);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_TOKEN_ISSUER_H_
