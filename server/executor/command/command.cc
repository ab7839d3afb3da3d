// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/command.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

void CommandContext::Watch(CompletionWatcher::Events events,
                           CompletionWatcher::Callback callback) const {
  CompletionWatcher& watcher = resources.watcher();
  if (!last || resources.options().idle == nullptr) {
    return watcher.Watch(std::move(events), std::move(callback));
  }
  watcher.WatchClosely(std::move(events), std::move(callback),
                       resources.options().idle);
}

void CommandContext::WatchWork(StreamResource& stream,
                               CompletionWatcher::Callback reply) const {
  CompletionWatcher::Callback callback =
      [note = resources.NoteCompletion({stream.progress.At(sequence)}),
       reply = std::move(reply)](const absl::Status& done) {
        note(done);
        reply(done);
      };
  if (last && resources.options().idle != nullptr) {
    const auto outcome = resources.watcher().LookClosely(
        *stream.stream, resources.options().idle);
    if (outcome.has_value()) {
      if (outcome->ok()) resources.stream_work().NoteIdle(stream);
      return callback(*outcome);
    }
  }
  auto mark = resources.stream_work().Mark(stream);
  if (!mark.ok()) return callback(mark.status());
  resources.watcher().Watch({*std::move(mark)}, std::move(callback));
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
