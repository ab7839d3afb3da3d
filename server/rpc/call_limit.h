// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CALL_LIMIT_H_
#define HOLDFAST_SERVER_RPC_CALL_LIMIT_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace holdfast {

// Limits the concurrent calls of one kind. Destroy the result of Take before
// the call is answered, because the client may send its next call at once.
// Thread-safe.
class CallLimit {
 public:
  // `calls` names the calls in errors: "transfers of one session". `most` is
  // the limit.
  CallLimit(std::string calls, int most)
      : calls_(std::move(calls)), most_(most) {}
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Counts a call until the result is destroyed. REQUIRES: this object outlives
  // the result. RESOURCE_EXHAUSTED: the limit is reached.
  absl::StatusOr<std::shared_ptr<void>> Take() {
    std::shared_ptr<void> count(nullptr, [this](void*) { --open_; });
    if (++open_ <= most_) return count;
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", most_, " ", calls_, " at a time"));
  }

 private:
  const std::string calls_;
  const int most_;
  std::atomic<int> open_{0};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_LIMIT_H_
