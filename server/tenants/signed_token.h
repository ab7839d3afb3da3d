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

// The conditions that a token must meet. Read from the policy file; all tokens
// have to meet the same rules.
struct TokenRules {
  // Keys with an id are tried for tokens that name it; those without for all.
  std::vector<TokenKey> keys;
  std::string issuer;    // the claim `iss`
  std::string audience;  // the claim `aud`, or one of its elements
  // The claim that names groups of the subject, if the token has it.
  std::string groups_claim = "groups";
  // How far the clocks of issuer and daemon may differ.
  absl::Duration leeway = absl::Seconds(30);
};

// A token whose signature, issuer and audience are right. CheckTime tells
// whether it holds at some time.
struct SignedToken {
  TokenIdentity identity;
  // With the leeway.
  absl::Time not_before;
  absl::Time expires;
};

// Verifies a JSON Web Token in its compact form (RFC 7519, RFC 7515): three
// parts of base64url with a dot between them. The signature is checked before
// any claim is parsed, by a key whose algorithm the token names; "none" and
// algorithms with a shared secret go with no key. UNAUTHENTICATED: it is wrong,
// and how.
//
// REQUIRES: the size of `token` is bounded by the caller.
absl::StatusOr<SignedToken> VerifyToken(absl::string_view token,
                                        const TokenRules& rules);

// UNAUTHENTICATED: the token has expired, or is not valid yet.
absl::Status CheckTime(const SignedToken& token, absl::Time now);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_SIGNED_TOKEN_H_
