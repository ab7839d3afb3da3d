// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_

#include <cstdint>
#include <memory>

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
  CommandProcessor(Resources& resources, ObjectFetcher fetch_object)
      : resources_(resources), fetch_object_(std::move(fetch_object)) {}

  // Every command of the batch; its results go to `results`, at once or later.
  void Process(const v1::CommandBatch& batch,
               const std::shared_ptr<ResultQueue>& results);

 private:
  absl::Status Dispatch(const CommandContext& context,
                        const v1::Command& command);
  absl::Status HandleFence(const CommandContext& context,
                           const v1::Fence& fence);

  Resources& resources_;
  const ObjectFetcher fetch_object_;
  v1::FenceResult failures_;  // since the last fence
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_PROCESSOR_H_
