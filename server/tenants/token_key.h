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
class TokenKey {
 public:
  TokenKey(std::shared_ptr<evp_pkey_st> key, std::string algorithm)
      : key_(std::move(key)), algorithm_(std::move(algorithm)) {}

  // The one algorithm that goes with this kind of key, by its name in tokens:
  // "RS256" (RFC 7518) for RSA, "EdDSA" (RFC 8037) for Ed25519.
  const std::string& algorithm() const { return algorithm_; }

  // Returns true if `signature` is this key's over `text`.
  bool Verifies(absl::string_view text, absl::string_view signature) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::string algorithm_;
};

// Returns the public keys of a PEM text, RSA with 2048 to 8192 bits and
// Ed25519. INVALID_ARGUMENT: there is none, or something else is there too, a
// private key above all.
absl::StatusOr<std::vector<TokenKey>> ParseTokenKeys(const std::string& pem);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TOKEN_KEY_H_
