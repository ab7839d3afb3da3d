// SPDX-License-Identifier: Apache-2.0
//
// The commands on events. An event is one of three: the session's own, which
// may be published to other sessions as well (PublishedEvent); one of another
// session (ImportedEvent); one of a process outside Holdfast, which the driver
// treats as its own.
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/imports/event_waits.h"
#include "server/executor/imports/imported_event.h"
#include "server/executor/resources/published_event.h"

namespace holdfast::executor {
namespace {

// CompletionWatcher::Callback that sends Done, or the device's error.
CompletionWatcher::Callback DoneLater(const CommandContext& context) {
  return [reply = context.ReplyLater()](const absl::Status& status) {
    v1::Result result;
    result.mutable_done();
    reply(status, std::move(result));
  };
}

v1::Result Elapsed(float milliseconds) {
  v1::Result result;
  result.set_elapsed_ms(milliseconds);
  return result;
}

// As DoneLater, with the time between two events that have completed by then.
CompletionWatcher::Callback ElapsedLater(const CommandContext& context,
                                         const EventResource& start,
                                         const EventResource& end) {
  return [start = start.event, end = end.event,
          reply = context.ReplyLater()](const absl::Status& status) {
    if (!status.ok()) return reply(status, {});
    const auto elapsed = cuda::ElapsedMilliseconds(*start, *end);
    reply(elapsed.status(), Elapsed(elapsed.value_or(0)));
  };
}

// Where the session's own events were recorded last, as far as that is known.
std::vector<StreamPoint> RecordedAt(
    std::initializer_list<const EventResource*> events) {
  std::vector<StreamPoint> points;
  for (const EventResource* event : events) {
    const bool known = event->recorded.done != nullptr;
    if (known && !event->recorded_by_work) points.push_back(event->recorded);
  }
  return points;
}

v1::Result Readiness(bool finished) {
  v1::Result result;
  result.mutable_readiness()->set_finished(finished);
  return result;
}

// Has `stream` wait for the last recording. The wait is named in the session's
// usage, and ended when the event's maker is gone. Returns a mark behind it;
// null if there is nothing to wait for.
absl::StatusOr<std::shared_ptr<const cuda::Event>> WaitOn(
    Resources& resources, const v1::WaitEvent& command,
    const std::shared_ptr<ImportedEvent>& event, const cuda::Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(const EventRecording recording, event->Latest());
  if (recording.number == 0) return nullptr;
  HOLDFAST_RETURN_IF_ERROR(resources.waits().CheckRoom());
  HOLDFAST_RETURN_IF_ERROR(resources.event_waits().Start());
  HOLDFAST_ASSIGN_OR_RETURN(
      auto passed, resources.watcher().RecordAfter(stream, [&] {
        return cuda::WaitValueAsync(stream, event->AddressOf(recording),
                                    recording.number);
      }));
  resources.waits().Add(command.event(), command.stream(), recording.number,
                        passed);
  resources.event_waits().Add({event, recording, passed});
  return passed;
}

absl::StatusOr<EventResource> Make(Resources& resources,
                                   const v1::CreateEvent& command) {
  if (command.interprocess() && command.timing()) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeHandle(command.event()),
        ": an interprocess event has no timing (CU_EVENT_INTERPROCESS)"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  EventResource event;
  event.device = command.device();
  HOLDFAST_ASSIGN_OR_RETURN(
      event.event,
      cuda::Event::Create(device->context,
                          {.timing = command.timing(),
                           .blocking_sync = command.blocking_sync()}));
  if (!command.interprocess()) return event;
  HOLDFAST_ASSIGN_OR_RETURN(
      event.published,
      PublishedEvent::Create(resources, command.event(), command.device()));
  event.allocation = event.published->allocation();
  return event;
}

// Tells whether the last recording was reached, by the word that says so.
absl::Status QueryImported(const CommandContext& context,
                           const std::shared_ptr<ImportedEvent>& event,
                           uint32_t device) {
  HOLDFAST_ASSIGN_OR_RETURN(const EventRecording recording, event->Latest());
  if (recording.number == 0) {
    context.Reply(Readiness(true));
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* host,
                            context.resources.devices.HostStream(device));
  HOLDFAST_ASSIGN_OR_RETURN(InlineStaging * space, context.resources.Inline());
  HOLDFAST_ASSIGN_OR_RETURN(const InlineStaging::Span span,
                            space->Take(sizeof(uint64_t)));
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(*host, span.device_address,
                                           event->AddressOf(recording),
                                           sizeof(uint64_t)));
  return context.resources.watcher().Watch(
      *host, [span, event, number = recording.number,
              reply = context.ReplyLater()](const absl::Status& status) {
        uint64_t value = 0;
        std::memcpy(&value, span.data, sizeof value);
        reply(status, Readiness(static_cast<int64_t>(value - number) >= 0));
      });
}

absl::Status SynchronizeImported(const CommandContext& context,
                                 const v1::SynchronizeEvent& command,
                                 const std::shared_ptr<ImportedEvent>& event) {
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* waiter, event->Waiter());
  v1::WaitEvent wait;
  wait.set_event(command.event());
  HOLDFAST_ASSIGN_OR_RETURN(auto passed,
                            WaitOn(context.resources, wait, event, *waiter));
  if (passed == nullptr) {
    DoneLater(context)(absl::OkStatus());
    return absl::OkStatus();
  }
  context.resources.watcher().Watch({std::move(passed)}, DoneLater(context));
  return absl::OkStatus();
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::WaitEvent& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                            resources.events.Find(command.event()));
  stream->progress.NoteGiven(context.sequence);
  if (event->imported == nullptr) [[likely]]
    return stream->stream->Wait(*event->event);
  if (event->device != stream->device) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeHandle(command.event()), " was imported for device ",
        event->device, ", the stream is of device ", stream->device));
  }
  return WaitOn(resources, command, event->imported, *stream->stream).status();
}

absl::Status Handle(const CommandContext& context,
                    const v1::CreateEvent& command) {
  return Create(context.resources.events, command.event(),
                [&] { return Make(context.resources, command); });
}

absl::Status Handle(const CommandContext& context,
                    const v1::DestroyEvent& command) {
  HOLDFAST_ASSIGN_OR_RETURN(auto event,
                            context.resources.events.Take(command.event()));
  if (!event.has_value()) return absl::OkStatus();
  return context.resources.DestroyEvent(*std::move(event));
}

absl::Status Handle(const CommandContext& context,
                    const v1::RecordEvent& command) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                            context.resources.events.Find(command.event()));
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(command.event(), *event));
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.streams.Find(command.stream()));
  stream->progress.NoteGiven(context.sequence);
  HOLDFAST_RETURN_IF_ERROR(event->event->Record(*stream->stream));
  event->recorded = stream->progress.At(context.sequence);
  if (event->published == nullptr) [[likely]]
    return absl::OkStatus();
  return event->published->Record(command.stream(), *stream->stream);
}

absl::Status Handle(const CommandContext& context,
                    const v1::SynchronizeEvent& command) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                            context.resources.events.Find(command.event()));
  if (event->imported != nullptr) {
    return SynchronizeImported(context, command, event->imported);
  }
  context.Watch({event->event}, RecordedAt({event}), DoneLater(context));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::QueryEvent& command) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                            context.resources.events.Find(command.event()));
  if (event->imported != nullptr) {
    return QueryImported(context, event->imported, event->device);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const bool finished, event->event->Query());
  if (finished) {
    for (const StreamPoint& point : RecordedAt({event})) point.Reach();
    context.resources.NoteCompletion();
  }
  context.Reply(Readiness(finished));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::ElapsedTime& command) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * start,
                            context.resources.events.Find(command.start()));
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * end,
                            context.resources.events.Find(command.end()));
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(command.start(), *start));
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(command.end(), *end));
  if (command.wait()) {
    context.Watch({start->event, end->event}, RecordedAt({start, end}),
                  ElapsedLater(context, *start, *end));
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const float elapsed,
      cuda::ElapsedMilliseconds(*start->event, *end->event));
  context.Reply(Elapsed(elapsed));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
