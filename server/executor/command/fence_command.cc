// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext& context, const v1::Fence& fence) {
  Resources& resources = context.resources;
  CompletionWatcher::Events marks;
  const bool all = fence.all_streams() ||
                   (fence.streams_size() == 1 && resources.streams.size() == 1);
  absl::Status status;
  const auto mark = [&](StreamResource& stream) {
    auto event = resources.MarkWork(stream);
    if (event.ok()) {
      marks.push_back(*std::move(event));
    } else if (status.ok()) {
      status = event.status();
    }
  };
  if (fence.all_streams()) {
    resources.streams.ForEach(mark);
  } else {
    for (const uint64_t handle : fence.streams()) {
      HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                                resources.streams.Find(handle));
      mark(*stream);
    }
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  v1::Result result;
  result.mutable_fence()->Swap(&context.failures);
  context.failures.Clear();
  context.Watch(std::move(marks),
                [result = std::move(result), reply = context.ReplyLater(),
                 note = all ? resources.NoteCompletion(context.sequence)
                            : nullptr](const absl::Status& device_status) {
                  if (note) note(device_status);
                  reply(device_status, result);
                });
  return absl::OkStatus();
}

}  // namespace holdfast::executor
