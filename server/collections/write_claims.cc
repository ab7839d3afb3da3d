// SPDX-License-Identifier: Apache-2.0
#include "server/collections/write_claims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace holdfast::collections {

int64_t WriteClaims::Add(const Key& key, const std::string& session,
                         Answer answer) {
  if (keys_.size() >= kMaxWaiting) return 0;
  const int64_t number = ++last_;
  keys_.emplace(number, key);
  std::list<Claim>& claims = claims_[key];
  Claim claim = {number, session, std::move(answer)};
  const bool expected = !claims.empty() && claims.front().number == 0 &&
                        claims.front().session == session;
  if (expected) claims.pop_front();
  if (expected || claims.empty()) {
    claims.push_front(std::move(claim));
    claims.front().answer(std::nullopt);
  } else {
    claims.push_back(std::move(claim));
  }
  return number;
}

std::vector<WriteClaims::Key> WriteClaims::Remove(int64_t claim) {
  const auto found = keys_.find(claim);
  if (found == keys_.end()) return {};
  const Key key = found->second;
  RemoveIf(claims_.find(key),
           [claim](const Claim& c) { return c.number == claim; });
  return {key};
}

std::vector<WriteClaims::Key> WriteClaims::EndSession(
    const std::string& session) {
  const auto is_of_session = [&](const Claim& claim) {
    return claim.session == session;
  };
  std::vector<Key> keys;
  for (auto it = claims_.begin(); it != claims_.end();) {
    const auto claims = it++;  // may be erased
    const auto& list = claims->second;
    if (std::none_of(list.begin(), list.end(), is_of_session)) continue;
    keys.push_back(claims->first);
    for (const Claim& claim : list) {
      if (!is_of_session(claim) || claim.number == 0) continue;
      claim.answer(absl::CancelledError(
          absl::StrCat("session ", session,
                       " has ended, and its claim of "
                       "collection \"",
                       claims->first.second, "\" with it")));
    }
    RemoveIf(claims, is_of_session);
  }
  return keys;
}

void WriteClaims::RemoveIf(Claims::iterator claims,
                           const std::function<bool(const Claim&)>& is_gone) {
  std::list<Claim>& list = claims->second;
  const bool writer_goes = is_gone(list.front());
  for (auto it = list.begin(); it != list.end();) {
    const auto claim = it++;
    if (!is_gone(*claim)) continue;
    keys_.erase(claim->number);
    list.erase(claim);
  }
  if (list.empty()) {
    claims_.erase(claims);
  } else if (writer_goes) {
    list.front().answer(std::nullopt);
  }
}

void WriteClaims::Expect(const Key& key, const std::string& session) {
  claims_[key].push_front({0, session, nullptr});
}

std::string WriteClaims::WriterOf(const Key& key) const {
  const auto found = claims_.find(key);
  return found == claims_.end() ? "" : found->second.front().session;
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
    if (claim.number == 0) continue;
    keys_.erase(claim.number);
    claim.answer(std::make_optional(version));
  }
}

}  // namespace holdfast::collections
