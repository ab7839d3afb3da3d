// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/token_verifier.h"

#include "core/base/sha256.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<TokenIdentity> TokenVerifier::Verify(absl::string_view token,
                                                    absl::Time now) {
  const std::string hash = ToBytes(Sha256(token));
  Entry entry = Recall(hash);
  const bool known = entry != nullptr;
  if (!known) {
    HOLDFAST_ASSIGN_OR_RETURN(SignedToken verified, VerifyToken(token, rules_));
    entry = std::make_shared<const SignedToken>(std::move(verified));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckTime(*entry, now));
  if (!known) Remember(hash, entry, now);
  return entry->identity;
}

size_t TokenVerifier::remembered() const {
  absl::MutexLock lock(&mutex_);
  return verified_.size();
}

TokenVerifier::Entry TokenVerifier::Recall(const std::string& hash) const {
  absl::MutexLock lock(&mutex_);
  const auto found = verified_.find(hash);
  return found == verified_.end() ? nullptr : found->second;
}

void TokenVerifier::Remember(const std::string& hash, Entry entry,
                             absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (verified_.size() >= kMaxRemembered) {
    for (auto it = verified_.begin(); it != verified_.end();) {
      const auto one = it++;
      if (one->second->expires <= now) verified_.erase(one);
    }
  }
  if (verified_.size() >= kMaxRemembered) verified_.clear();
  verified_[hash] = std::move(entry);
}

}  // namespace holdfast
