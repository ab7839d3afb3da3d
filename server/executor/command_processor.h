// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/command.h"
#include "server/executor/resources.h"
#include "server/executor/result_queue.h"

namespace holdfast::executor {

// Carries out commands, one after the other, and keeps account of those that
// fail. Not thread-safe: belongs to the submission thread.
class CommandProcessor {
 public:
  // `wake` is called, from any thread, when a batch that had to wait may go on.
  CommandProcessor(Resources& resources, ObjectFetcher fetch_object,
                   std::function<void()> wake)
      : resources_(resources),
        fetch_object_(std::move(fetch_object)),
        wake_(std::move(wake)) {}

  // The commands of the batch from `*next` on, which it moves on; their results
  // go to `results`, at once or later. False: the rest has to wait until
  // results were taken, memory for inline bytes is free, or pinned memory that
  // was freed is no longer used by a device.
  bool Process(const v1::CommandBatch& batch,
               const std::shared_ptr<ResultQueue>& results, int* next);

 private:
  bool MayProceed(const v1::Command& command, ResultQueue& results);
  absl::Status Dispatch(const CommandContext& context,
                        const v1::Command& command);
  absl::Status HandleFence(const CommandContext& context,
                           const v1::Fence& fence);
  void NoteFailure(const CommandContext& context, const absl::Status& status);

  Resources& resources_;
  const ObjectFetcher fetch_object_;
  const std::function<void()> wake_;
  v1::FenceResult failures_;  // since the last fence
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_
