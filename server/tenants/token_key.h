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

// A public key whose owner issues signed tokens. Immutable, thread-safe.
//
// Read from the policy's key files (ParseTokenKeys) and held by TokenRules.
class TokenKey {
 public:
  // Takes a public key, RSA with 2048 to 8192 bits or Ed25519; of another kind:
  // INVALID_ARGUMENT. `id` may be empty.
  static absl::StatusOr<TokenKey> Create(std::shared_ptr<evp_pkey_st> key,
                                         std::string id = "");

  // The one algorithm that goes with this kind of key, by its name in tokens:
  // "RS256" (RFC 7518) for RSA, "EdDSA" (RFC 8037) for Ed25519.
  const std::string& algorithm() const { return algorithm_; }

  // The name that tokens call it by (`kid`); empty if it has none, as in PEM.
  const std::string& id() const { return id_; }

  // Returns true if `signature` is this key's over `text`. False also if the
  // signature has the wrong size.
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

// Returns the public keys of a PEM text, RSA with 2048 to 8192 bits and
// Ed25519. INVALID_ARGUMENT: there is none, or something else is there too, a
// private key above all. Every block has to be a "PUBLIC KEY".
absl::StatusOr<std::vector<TokenKey>> ParseTokenKeys(const std::string& pem);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TOKEN_KEY_H_
