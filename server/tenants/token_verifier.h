// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TOKEN_VERIFIER_H_
#define HOLDFAST_SERVER_TENANTS_TOKEN_VERIFIER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/tenants/signed_token.h"

namespace holdfast {

// Verifies the tokens of one policy. A valid token is remembered by its hash
// until it expires, so that a further call costs a hash and a look-up. Invalid
// tokens are not remembered. Thread-safe.
class TokenVerifier {
 public:
  // The most remembered tokens. If this number of valid tokens is reached, the
  // verifier forgets all of them, and verifies each again at its next call.
  static constexpr size_t kMaxRemembered = 4096;

  explicit TokenVerifier(TokenRules rules) : rules_(std::move(rules)) {}

  // Returns the identity that the token names. UNAUTHENTICATED: the token is
  // invalid, has expired or is not valid yet. REQUIRES: the caller bounds the
  // token's size.
  absl::StatusOr<TokenIdentity> Verify(absl::string_view token, absl::Time now);

  const TokenRules& rules() const { return rules_; }
  // Returns the number of remembered tokens.
  size_t remembered() const;

 private:
  using Entry = std::shared_ptr<const SignedToken>;

  Entry Recall(const std::string& hash) const;
  void Remember(const std::string& hash, Entry entry, absl::Time now);

  const TokenRules rules_;
  mutable absl::Mutex mutex_;
  // The key is the token's SHA-256.
  absl::flat_hash_map<std::string, Entry> verified_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TOKEN_VERIFIER_H_
