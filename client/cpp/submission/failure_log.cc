// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/failure_log.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"

namespace holdfast {

void FailureLog::Add(uint64_t sequence, const absl::Status& status) {
  if (auto found = watched_.find(sequence); found != watched_.end()) {
    found->second.outcome = status;
    if (found->second.alone) return;
  }
  if (count_++ == 0 || sequence < first_sequence_) {
    first_sequence_ = sequence;
    first_ = status;
  }
}

void FailureLog::DropAfter(uint64_t sequence, const absl::Status& status) {
  for (auto& [command, watched] : watched_) {
    if (command > sequence && watched.outcome.ok()) watched.outcome = status;
  }
}

absl::Status FailureLog::Take() {
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
