// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/event.h"

#include <utility>

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteDestroy(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::fields::Command::kDestroyEvent, [&] {
    writer.Write(v1::fields::DestroyEvent::kEvent, handle);
  });
}

absl::Status ImportAs(const Resource& resource, v1::ImportResource source) {
  source.set_resource(resource.handle());
  return resource.session()
      ->queue
      .Call([&](v1::Command& command) {
        command.mutable_import_resource()->Swap(&source);
      })
      .status();
}

}  // namespace

absl::StatusOr<Event> Event::Create(std::shared_ptr<SessionState> session,
                                    uint32_t device,
                                    const EventOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kEvent,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kCreateEvent, [&] {
              using Fields = v1::fields::CreateEvent;
              writer.Write(Fields::kEvent, handle);
              writer.Write(Fields::kDevice, device);
              writer.Write(Fields::kTiming, options.timing);
              writer.Write(Fields::kBlockingSync, options.blocking_sync);
              writer.Write(Fields::kInterprocess, options.interprocess);
            });
          },
          WriteDestroy));
  return Event(std::move(resource));
}

absl::StatusOr<Event> Event::Import(std::shared_ptr<SessionState> session,
                                    uint32_t device, absl::string_view token) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Reserve(std::move(session), HandleKind::kEvent, WriteDestroy));
  v1::ImportResource source;
  source.set_device(device);
  source.set_token(std::string(token));
  HOLDFAST_RETURN_IF_ERROR(ImportAs(resource, std::move(source)));
  return Event(std::move(resource));
}

absl::Status Event::RefuseIfCaptured(absl::string_view call) const {
  CaptureRegistry& captures = session()->captures;
  if (!captures.any()) return absl::OkStatus();
  return captures.RefuseOnEvent(handle(), call);
}

absl::Status Event::Synchronize() const {
  HOLDFAST_RETURN_IF_ERROR(RefuseIfCaptured("waiting for an event"));
  HOLDFAST_RETURN_IF_ERROR(
      session()
          ->queue
          .Call([&](WireWriter& writer) {
            writer.Message(v1::fields::Command::kSynchronizeEvent, [&] {
              writer.Write(v1::fields::SynchronizeEvent::kEvent, handle());
            });
          })
          .status());
  return session()->queue.TakeFailure();
}

absl::StatusOr<bool> Event::IsDone() const {
  HOLDFAST_RETURN_IF_ERROR(RefuseIfCaptured("asking an event if it is done"));
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        command.mutable_query_event()->set_event(handle());
      }));
  return result.readiness().finished();
}

absl::StatusOr<float> Event::Elapsed(const Event& start, bool wait) const {
  HOLDFAST_RETURN_IF_ERROR(RefuseIfCaptured("the time between events"));
  HOLDFAST_RETURN_IF_ERROR(start.RefuseIfCaptured("the time between events"));
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        command.mutable_elapsed_time()->set_start(start.handle());
        command.mutable_elapsed_time()->set_end(handle());
        command.mutable_elapsed_time()->set_wait(wait);
      }));
  return result.elapsed_ms();
}

absl::StatusOr<float> Event::MillisecondsSince(const Event& start) const {
  return Elapsed(start, /*wait=*/false);
}

absl::StatusOr<float> Event::AwaitMillisecondsSince(const Event& start) const {
  HOLDFAST_ASSIGN_OR_RETURN(const float elapsed, Elapsed(start, /*wait=*/true));
  HOLDFAST_RETURN_IF_ERROR(session()->queue.TakeFailure());
  return elapsed;
}

}  // namespace holdfast
