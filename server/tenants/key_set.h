// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_KEY_SET_H_
#define HOLDFAST_SERVER_TENANTS_KEY_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/tenants/token_key.h"

namespace holdfast {

// Returns true if the text of a key file is a key set, which begins with "{";
// false if it is PEM.
bool IsKeySet(const std::string& text);

// Returns the public keys of a JSON Web Key Set (RFC 7517) that sign tokens:
// kty RSA with 2048 to 8192 bits, and OKP with the curve Ed25519. Ignores keys
// for another use, of another kind or for another algorithm, because issuers
// publish them in the same set.
//
// INVALID_ARGUMENT, with line and column or the key's number: the text is not a
// key set, a key is malformed or private, two keys have the same `kid`, or no
// key is left.
absl::StatusOr<std::vector<TokenKey>> ParseKeySet(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_KEY_SET_H_
