// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TOKEN_KEY_H_
#define HOLDFAST_SERVER_TENANTS_TOKEN_KEY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace holdfast {

// A public key of an issuer of signed tokens. Immutable; thread-safe.
//
// ParseTokenKeys reads the keys from the policy's key files; TokenRules holds
// them.
class TokenKey {
 public:
  // Makes a key from `key`, a public key: RSA with 2048 to 8192 bits, or
  // Ed25519. `id` may be empty. INVALID_ARGUMENT: the key is of another kind or
  // size.
  static absl::StatusOr<TokenKey> Create(std::shared_ptr<evp_pkey_st> key,
                                         std::string id = "");

  // Returns the only algorithm for this kind of key, by its name in tokens:
  // "RS256" (RFC 7518) for RSA, "EdDSA" (RFC 8037) for Ed25519.
  const std::string& algorithm() const { return algorithm_; }

  // Returns the name of the key in tokens (`kid`); empty if the key has no
  // name, as in PEM.
  const std::string& id() const { return id_; }

  // Returns true if `signature` is a signature of `text` by this key; false
  // also if it has the wrong size.
  bool Verifies(absl::string_view text, absl::string_view signature) const;

 private:
  TokenKey(std::shared_ptr<evp_pkey_st> key, std::string algorithm,
           std::string id)
      : key_(std::move(key)),
        algorithm_(std::move(algorithm)),
        id_(std::move(id)) {}

  std::shared_ptr<evp_pkey_st> key_;
  std::string algorithm_;
  std::string id_;
};

// Returns the public keys of a PEM text: RSA with 2048 to 8192 bits, and
// Ed25519. INVALID_ARGUMENT: the text has no key, or has a block that is not a
// "PUBLIC KEY", such as a private key.
absl::StatusOr<std::vector<TokenKey>> ParseTokenKeys(const std::string& pem);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TOKEN_KEY_H_
