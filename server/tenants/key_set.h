// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_KEY_SET_H_
#define HOLDFAST_SERVER_TENANTS_KEY_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/tenants/token_key.h"

namespace holdfast {

// Whether a file of keys is a key set, rather than PEM: it begins with "{".
bool IsKeySet(const std::string& text);

// Returns the public keys of a JSON Web Key Set (RFC 7517) that sign tokens:
// kty RSA with 2048 to 8192 bits, and OKP with the curve Ed25519. A key for
// another use, of another kind or for another algorithm is passed over, since
// issuers publish those in the same set.
//
// INVALID_ARGUMENT, with line and column or the key's number: the text is no
// key set, a key is broken or private, two have the same `kid`, or none is
// left.
absl::StatusOr<std::vector<TokenKey>> ParseKeySet(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_KEY_SET_H_
