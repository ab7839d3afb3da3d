// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/failure_log.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"

namespace holdfast {

void FailureLog::Unwatch(uint64_t sequence) {
  const auto found = watched_.find(sequence);
  if (found == watched_.end()) return;
  if (untold_.erase(sequence) > 0) AddForTake(sequence, found->second.outcome);
  watched_.erase(found);
}

void FailureLog::Add(uint64_t sequence, const absl::Status& status) {
  const auto found = watched_.find(sequence);
  if (found == watched_.end()) return AddForTake(sequence, status);
  found->second.outcome = status;
  if (!found->second.alone) untold_.insert(sequence);
}

void FailureLog::AddForTake(uint64_t sequence, const absl::Status& status) {
  if (count_++ == 0 || sequence < first_sequence_) {
    first_sequence_ = sequence;
    first_ = status;
  }
}

void FailureLog::NoteTold(const absl::Status& status) {
  absl::erase_if(untold_, [&](uint64_t sequence) {
    return watched_.at(sequence).outcome == status;
  });
}

void FailureLog::DropAfter(uint64_t sequence, const absl::Status& status) {
  for (auto& [command, watched] : watched_) {
    if (command > sequence && watched.outcome.ok()) watched.outcome = status;
  }
}

absl::Status FailureLog::Take() {
  for (const uint64_t sequence : untold_) {
    AddForTake(sequence, watched_.at(sequence).outcome);
  }
  untold_.clear();
  if (count_ == 0) return absl::OkStatus();
  std::string prefix = absl::StrCat("command ", first_sequence_, " failed");
  if (count_ > 1) {
    absl::StrAppend(&prefix, " (and ", count_ - 1, " after it)");
  }
  absl::Status result = WithPrefix(prefix, first_);
  first_ = absl::OkStatus();
  count_ = 0;
  return result;
}

absl::Status FailureLog::Of(uint64_t sequence) const {
  const auto found = watched_.find(sequence);
  return found == watched_.end() ? absl::OkStatus() : found->second.outcome;
}

}  // namespace holdfast
