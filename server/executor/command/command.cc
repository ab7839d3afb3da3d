// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/command.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

void CommandContext::Watch(CompletionWatcher::Events events,
                           std::vector<StreamPoint> awaited,
                           CompletionWatcher::Callback reply) const {
  CompletionWatcher& watcher = resources.watcher();
  auto callback =
      resources.NoteCompletionThen(std::move(awaited), std::move(reply));
  if (!last || resources.options().idle == nullptr) {
    return watcher.Watch(std::move(events), std::move(callback));
  }
  watcher.WatchClosely(std::move(events), std::move(callback),
                       resources.options().idle);
}

void CommandContext::WatchWork(StreamResource& stream,
                               CompletionWatcher::Callback reply) const {
  if (last && resources.options().idle != nullptr) {
    const auto outcome = resources.watcher().LookClosely(
        *stream.stream, resources.options().idle);
    if (outcome.has_value()) {
      if (outcome->ok()) {
        resources.stream_work().NoteIdle(stream);
        resources.NoteCompletion();
      }
      return reply(*outcome);
    }
  }
  auto mark = resources.stream_work().Mark(stream);
  if (!mark.ok()) return reply(mark.status());
  resources.watcher().Watch(
      {*std::move(mark)},
      resources.NoteCompletionThen({stream.progress.At(sequence)},
                                   std::move(reply)));
}

std::function<void(const absl::Status&, v1::Result)> CommandContext::ReplyLater(
    size_t bytes) const {
  results->Expect(bytes);
  return [queue = results, number = sequence, bytes](const absl::Status& status,
                                                     v1::Result result) {
    result.set_sequence(number);
    if (!status.ok()) *result.mutable_error() = ToError(status);
    queue->Deliver(std::move(result), bytes);
  };
}

}  // namespace holdfast::executor
