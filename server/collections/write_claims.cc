// SPDX-License-Identifier: Apache-2.0
#include "server/collections/write_claims.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

int64_t WriteClaims::Add(const Key& key, const std::string& session,
                         Answer answer) {
  if (keys_.size() >= kMaxWaiting) return 0;
  const int64_t number = ++last_;
  keys_.emplace(number, key);
  std::list<Claim>& claims = claims_[key];
  claims.push_back({number, session, std::move(answer)});
  if (claims.size() == 1) claims.front().answer(std::nullopt);
  return number;
}

void WriteClaims::Remove(int64_t claim) {
  const auto key = keys_.find(claim);
  if (key == keys_.end()) return;
  const auto found = claims_.find(key->second);
  keys_.erase(key);
  std::list<Claim>& claims = found->second;
  const bool writes = claims.front().number == claim;
  claims.remove_if([claim](const Claim& c) { return c.number == claim; });
  if (claims.empty()) {
    claims_.erase(found);
  } else if (writes) {
    claims.front().answer(std::nullopt);
  }
}

absl::Status WriteClaims::MayWrite(const Key& key,
                                   const std::string& session) const {
  const auto found = claims_.find(key);
  if (found == claims_.end() || found->second.front().session == session) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("session ", found->second.front().session,
                   " has claimed collection \"", key.second, "\""));
}

void WriteClaims::Resolve(const Key& key,
                          const v1::CollectionVersion& version) {
  const auto found = claims_.find(key);
  if (found == claims_.end()) return;
  const std::list<Claim> claims = std::move(found->second);
  claims_.erase(found);
  for (const Claim& claim : claims) {
    keys_.erase(claim.number);
    claim.answer(version);
  }
}

}  // namespace holdfast
