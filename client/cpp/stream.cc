// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/stream.h"

#include <utility>

#include "client/cpp/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<Stream> Stream::Create(std::shared_ptr<SessionState> session,
                                      uint32_t device,
                                      const StreamOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kStream,
          [&](uint64_t handle, WireWriter& writer) {
            v1::Command command;
            v1::CreateStream& create = *command.mutable_create_stream();
            create.set_stream(handle);
            create.set_device(device);
            create.set_priority(options.priority);
            create.set_blocking(options.blocking);
            writer.Fields(command);
          },
          [](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::Command::kDestroyStreamFieldNumber, [&] {
              writer.Fixed64(v1::DestroyStream::kStreamFieldNumber, handle);
            });
          }));
  return Stream(std::move(resource), device);
}

absl::StatusOr<Event> Stream::Record(const EventOptions& options) const {
  HOLDFAST_ASSIGN_OR_RETURN(Event event,
                            Event::Create(session(), device_, options));
  HOLDFAST_RETURN_IF_ERROR(Record(event));
  return event;
}

absl::Status Stream::Record(const Event& event) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kRecordEventFieldNumber, [&] {
          writer.Fixed64(v1::RecordEvent::kEventFieldNumber, event.handle());
          writer.Fixed64(v1::RecordEvent::kStreamFieldNumber, handle());
        });
      })
      .status();
}

absl::Status Stream::Wait(const Event& event) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kWaitEventFieldNumber, [&] {
          writer.Fixed64(v1::WaitEvent::kStreamFieldNumber, handle());
          writer.Fixed64(v1::WaitEvent::kEventFieldNumber, event.handle());
        });
      })
      .status();
}

absl::Status Stream::Wait(const Stream& other) const {
  HOLDFAST_ASSIGN_OR_RETURN(const Event event, other.Record());
  return Wait(event);
}

absl::Status Stream::Synchronize() const {
  HOLDFAST_RETURN_IF_ERROR(
      session()
          ->queue
          .Call([&](WireWriter& writer) {
            writer.Message(v1::Command::kSynchronizeStreamFieldNumber, [&] {
              writer.Fixed64(v1::SynchronizeStream::kStreamFieldNumber,
                             handle());
            });
          })
          .status());
  return session()->queue.TakeFailure();
}

absl::StatusOr<bool> Stream::IsDone() const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        command.mutable_query_stream()->set_stream(handle());
      }));
  return result.readiness().finished();
}

}  // namespace holdfast
