// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/priority_range.h"

namespace holdfast::executor {
namespace {

v1::Result Readiness(bool finished) {
  v1::Result result;
  result.mutable_readiness()->set_finished(finished);
  return result;
}

// A callback for the watcher that sends Done, or the device's error.
CompletionWatcher::Callback DoneLater(const CommandContext& context) {
  return [reply = context.ReplyLater()](const absl::Status& status) {
    v1::Result result;
    result.mutable_done();
    reply(status, std::move(result));
  };
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::CreateStream& command) {
  Resources& resources = context.resources;
  return Create(
      resources.streams, command.stream(),
      [&]() -> absl::StatusOr<StreamResource> {
        HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                                  resources.devices.Open(command.device()));
        cuda::StreamOptions options;
        options.priority =
            PriorityOn(*device->context, resources.options().stream_priorities,
                       command.priority());
        options.non_blocking = !command.blocking();
        StreamResource stream;
        stream.device = command.device();
        HOLDFAST_ASSIGN_OR_RETURN(
            stream.stream, cuda::Stream::Create(device->context, options));
        return stream;
      });
}

absl::Status Handle(const CommandContext& context,
                    const v1::DestroyStream& command) {
  HOLDFAST_ASSIGN_OR_RETURN(auto stream,
                            context.resources.streams.Take(command.stream()));
  if (stream.has_value()) context.resources.DestroyStream(*std::move(stream));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::SynchronizeStream& command) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.streams.Find(command.stream()));
  context.WatchWork(*stream, DoneLater(context));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::QueryStream& command) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(const bool finished, stream->stream->Query());
  if (finished) {
    context.resources.stream_work().NoteIdle(*stream);
    context.resources.NoteCompletion();
  }
  context.Reply(Readiness(finished));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
