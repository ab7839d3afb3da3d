// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext& context, const v1::Fence& fence) {
  Resources& resources = context.resources;
  std::vector<StreamResource*> streams;
  if (fence.all_streams()) {
    resources.streams.ForEach(
        [&](StreamResource& stream) { streams.push_back(&stream); });
  } else {
    for (const uint64_t handle : fence.streams()) {
      HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                                resources.streams.Find(handle));
      streams.push_back(stream);
    }
  }
  CompletionWatcher::Events marks;
  std::vector<StreamPoint> ends;
  if (streams.size() > 1) {
    for (StreamResource* stream : streams) {
      HOLDFAST_ASSIGN_OR_RETURN(auto mark,
                                resources.stream_work().Mark(*stream));
      marks.push_back(std::move(mark));
      ends.push_back(stream->progress.At(context.sequence));
    }
  }
  v1::Result result;
  result.mutable_fence()->Swap(&context.failures);
  context.failures.Clear();
  CompletionWatcher::Callback done =
      [result = std::move(result), reply = context.ReplyLater()](
          const absl::Status& device_status) { reply(device_status, result); };
  if (streams.size() == 1) {
    context.WatchWork(*streams.front(), std::move(done));
  } else {
    context.Watch(std::move(marks), std::move(ends), std::move(done));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
