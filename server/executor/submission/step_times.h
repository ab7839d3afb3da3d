// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_STEP_TIMES_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_STEP_TIMES_H_

#include <array>

#include "core/base/step_clock.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// The executor's steps for a command, whose times a client can measure: the
// command's batch is read from the client's ring, the submission thread begins
// the batch, and the result is found.
enum ExecutorStep { kBatchRead, kBatchBegun, kResultFound };
inline constexpr std::array<const char*, 3> kExecutorSteps = {
    "executor: batch read", "executor: commands begun",
    "executor: result found"};

using ExecutorClock = StepClock<kExecutorSteps.size()>;

// Returns a batch with the times of the executor's steps, followed by the
// results.
inline v1::ResultBatch WithTimes(const v1::ResultBatch& results,
                                 const ExecutorClock& clock) {
  v1::ResultBatch with_times;
  clock.AddTo(with_times.add_results()->mutable_times());
  with_times.MergeFrom(results);
  return with_times;
}

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_STEP_TIMES_H_
