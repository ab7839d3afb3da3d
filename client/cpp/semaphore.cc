// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/semaphore.h"

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteDestroy(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::fields::Command::kDestroySemaphore, [&] {
    writer.Write(v1::fields::DestroySemaphore::kSemaphore, handle);
  });
}

}  // namespace

absl::StatusOr<Semaphore> Semaphore::Create(
    std::shared_ptr<SessionState> session, uint32_t device,
    uint64_t initial_value) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kSemaphore,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kCreateSemaphore, [&] {
              using Fields = v1::fields::CreateSemaphore;
              writer.Write(Fields::kSemaphore, handle);
              writer.Write(Fields::kDevice, device);
              writer.Write(Fields::kInitialValue, initial_value);
            });
          },
          WriteDestroy));
  return Semaphore(std::move(resource));
}

absl::StatusOr<Semaphore> Semaphore::Import(
    std::shared_ptr<SessionState> session, uint32_t device,
    absl::string_view token) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Reserve(std::move(session), HandleKind::kSemaphore, WriteDestroy));
  HOLDFAST_RETURN_IF_ERROR(resource.session()
                               ->queue
                               .Call([&](v1::Command& command) {
                                 v1::ImportResource& import =
                                     *command.mutable_import_resource();
                                 import.set_resource(resource.handle());
                                 import.set_token(std::string(token));
                                 import.set_device(device);
                               })
                               .status());
  return Semaphore(std::move(resource));
}

absl::Status Semaphore::Signal(uint64_t value, const Stream& stream) const {
  HOLDFAST_RETURN_IF_ERROR(stream.Enter());
  return Signal(value, stream.handle());
}

absl::Status Semaphore::Signal(uint64_t value) const {
  return Signal(value, uint64_t{0});
}

absl::Status Semaphore::Signal(uint64_t value, uint64_t stream) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::fields::Command::kSignalSemaphore, [&] {
          using Fields = v1::fields::SignalSemaphore;
          writer.Write(Fields::kSemaphore, handle());
          writer.Write(Fields::kStream, stream);
          writer.Write(Fields::kValue, value);
        });
      })
      .status();
}

absl::Status Semaphore::Wait(uint64_t value, const Stream& stream) const {
  return stream.Leave(Wait(value, stream.handle()));
}

absl::Status Semaphore::Wait(uint64_t value, uint64_t stream) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::fields::Command::kWaitSemaphore, [&] {
          using Fields = v1::fields::WaitSemaphore;
          writer.Write(Fields::kSemaphore, handle());
          writer.Write(Fields::kStream, stream);
          writer.Write(Fields::kValue, value);
        });
      })
      .status();
}

absl::StatusOr<uint64_t> Semaphore::Value() const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](WireWriter& writer) {
        writer.Message(v1::fields::Command::kReadSemaphore, [&] {
          writer.Write(v1::fields::ReadSemaphore::kSemaphore, handle());
        });
      }));
  return result.semaphore().value();
}

}  // namespace holdfast
