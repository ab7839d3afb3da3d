// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/stream.h"

#include <utility>

#include "client/cpp/state/session_state.h"
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
            writer.Message(v1::fields::Command::kDestroyStream, [&] {
              writer.Write(v1::fields::DestroyStream::kStream, handle);
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
  if (CaptureRegistry& captures = session()->captures; captures.any()) {
    const auto recorded = captures.Record(handle(), event.handle());
    if (recorded.has_value()) return *recorded;
  }
  HOLDFAST_RETURN_IF_ERROR(Enter());
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::fields::Command::kRecordEvent, [&] {
          writer.Write(v1::fields::RecordEvent::kEvent, event.handle());
          writer.Write(v1::fields::RecordEvent::kStream, handle());
        });
      })
      .status();
}

absl::Status Stream::Wait(const Event& event) const {
  if (CaptureRegistry& captures = session()->captures; captures.any()) {
    const auto joined = captures.Wait(handle(), event.handle());
    if (joined.has_value()) {
      captures_.Set(true);
      return *joined;
    }
  }
  return Leave(session()
                   ->queue
                   .Submit([&](WireWriter& writer) {
                     writer.Message(v1::fields::Command::kWaitEvent, [&] {
                       using Fields = v1::fields::WaitEvent;
                       writer.Write(Fields::kStream, handle());
                       writer.Write(Fields::kEvent, event.handle());
                     });
                   })
                   .status());
}

absl::Status Stream::Wait(const Stream& other) const {
  HOLDFAST_ASSIGN_OR_RETURN(const Event event, other.Record());
  return Wait(event);
}

absl::Status Stream::Synchronize() const {
  HOLDFAST_RETURN_IF_ERROR(RefuseIfCapturing("waiting for a stream"));
  HOLDFAST_RETURN_IF_ERROR(Enter());
  absl::Status status =
      session()
          ->queue
          .Call([&](WireWriter& writer) {
            writer.Message(v1::fields::Command::kSynchronizeStream, [&] {
              writer.Write(v1::fields::SynchronizeStream::kStream, handle());
            });
          })
          .status();
  if (status.ok()) status = session()->queue.TakeFailure();
  if (!status.ok()) Abandon();
  return status;
}

absl::StatusOr<bool> Stream::IsDone() const {
  HOLDFAST_RETURN_IF_ERROR(RefuseIfCapturing("asking a stream if it is done"));
  HOLDFAST_RETURN_IF_ERROR(Enter());
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        command.mutable_query_stream()->set_stream(handle());
      }));
  return result.readiness().finished();
}

bool Stream::IsCapturing() const {
  return captures_.IsSet() && session()->captures.IsCapturing(handle());
}

absl::Status Stream::Submit(absl::FunctionRef<void(WireWriter&)> encode) const {
  if (captures_.IsSet()) [[unlikely]] {
    const std::optional<absl::Status> captured = Capture(encode);
    if (captured.has_value()) return *captured;
  }
  if (order_.get() == nullptr) [[likely]] {
    return session()->queue.Submit(encode).status();
  }
  HOLDFAST_RETURN_IF_ERROR(Enter());
  return Leave(session()->queue.Submit(encode).status());
}

absl::Status Stream::Submit(absl::FunctionRef<void(v1::Command&)> fill) const {
  v1::Command command;
  fill(command);
  return Submit([&](WireWriter& writer) { writer.Fields(command); });
}

std::optional<absl::Status> Stream::Capture(
    absl::FunctionRef<void(WireWriter&)> encode) const {
  WireWriter writer(256);
  encode(writer);
  const auto captured = session()->captures.Add(handle(), device_,
                                                {writer.data(), writer.size()});
  if (!captured.has_value()) captures_.Set(false);
  return captured;
}

absl::Status Stream::OrderWith(std::unique_ptr<StreamOrder> order) const {
  if (order_.Set(std::move(order))) return absl::OkStatus();
  return absl::AlreadyExistsError(
      "the stream is ordered with a stream of this process already");
}

absl::Status Stream::Enter() const {
  StreamOrder* const order = order_.get();
  return order == nullptr ? absl::OkStatus() : order->Enter();
}

absl::Status Stream::Leave(absl::Status outcome) const {
  StreamOrder* const order = order_.get();
  if (order == nullptr) return outcome;
  if (outcome.ok()) return order->Leave();
  order->Abandon();
  return outcome;
}

void Stream::Abandon() const {
  if (StreamOrder* const order = order_.get()) order->Abandon();
}

absl::Status Stream::RefuseIfCapturing(absl::string_view call) const {
  if (!captures_.IsSet()) [[likely]]
    return absl::OkStatus();
  return session()->captures.RefuseOnStream(handle(), call);
}

}  // namespace holdfast
