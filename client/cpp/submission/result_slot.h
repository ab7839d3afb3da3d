// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_SLOT_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_SLOT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// The place of one command's result. The callers that wait for the result, and
// the queue until the result arrives, share it.
struct ResultSlot {
  // Sets the result and wakes the callers. Called once.
  void Set(absl::StatusOr<v1::Result> outcome) {
    result = std::move(outcome);
    done.Notify();
  }

  uint64_t sequence = 0;  // the command's number
  // The result only says that the command is done: TakeFailure returns its
  // failure, as for a command without a result.
  bool told_by_take_failure = false;
  absl::Notification done;
  absl::StatusOr<v1::Result> result;  // once done
};

using ResultSlots = std::vector<std::shared_ptr<ResultSlot>>;

// Sets every slot to `error`. Called without locks.
inline void SetAll(const ResultSlots& slots, const absl::Status& error) {
  for (const std::shared_ptr<ResultSlot>& slot : slots) slot->Set(error);
}

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_SLOT_H_
