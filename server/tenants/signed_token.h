// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_SIGNED_TOKEN_H_
#define HOLDFAST_SERVER_TENANTS_SIGNED_TOKEN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/tenants/token_key.h"

namespace holdfast {

// The conditions that all tokens must meet, from the policy file.
struct TokenRules {
  // For a token that names a key's id, the keys with this id are tried, or the
  // keys without an id if no key has it. For a token that names no id, all keys
  // are tried.
  std::vector<TokenKey> keys;
  std::string issuer;    // the claim `iss`
  std::string audience;  // the claim `aud`, or one of its elements
  // The claim with the groups of the subject. A token need not have it.
  std::string groups_claim = "groups";
  // The allowed difference between the clocks of issuer and daemon.
  absl::Duration leeway = absl::Seconds(30);
};

// A token with valid signature, issuer and audience. CheckTime checks its
// times.
struct SignedToken {
  TokenIdentity identity;
  // The times include the leeway.
  absl::Time not_before;
  absl::Time expires;
};

// Verifies a JSON Web Token in its compact form (RFC 7519, RFC 7515): three
// parts of base64url with a dot between them. Does not check the times: see
// CheckTime. The signature is checked before any claim is parsed, with a key
// whose algorithm is the one that the token names. No key has the algorithm
// "none", or an algorithm with a shared secret. UNAUTHENTICATED: the token is
// invalid; the message has the reason.
//
// REQUIRES: the size of `token` is bounded by the caller.
absl::StatusOr<SignedToken> VerifyToken(absl::string_view token,
                                        const TokenRules& rules);

// Checks the times of a token. UNAUTHENTICATED: the token has expired, or is
// not valid yet.
absl::Status CheckTime(const SignedToken& token, absl::Time now);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_SIGNED_TOKEN_H_
