// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/stream_value.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/value_operands.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext& context,
                    const v1::ValueBatch& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const ValueOperands operands,
      ResolveValues({resources, stream->device}, command));
  if (operands.operations.empty()) return absl::OkStatus();
  stream->progress.NoteGiven(context.sequence);
  if (!operands.awaited.has_value()) {
    return cuda::BatchValuesAsync(*stream->stream, operands.operations);
  }
  HOLDFAST_RETURN_IF_ERROR(resources.waits().CheckRoom());
  HOLDFAST_ASSIGN_OR_RETURN(
      auto passed, resources.watcher().RecordAfter(*stream->stream, [&] {
        return cuda::BatchValuesAsync(*stream->stream, operands.operations);
      }));
  resources.waits().Add(operands.awaited->semaphore, command.stream(),
                        operands.awaited->value, std::move(passed));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
