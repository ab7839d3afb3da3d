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

// How many calls of a kind are served at a time. A call is counted until what
// Take has returned is dropped, which is to be before the call is answered: a
// client that has its answer may send the next one at once. Thread-safe.
class CallLimit {
 public:
  // `calls` is for messages: "transfers of one session".
  CallLimit(std::string calls, int most)
      : calls_(std::move(calls)), most_(most) {}
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Counts a call until the result is dropped, which must be before this ends.
  // RESOURCE_EXHAUSTED: one too many.
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
