// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/sharing/semaphore.h"

#include "client/cpp/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteDestroy(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::Command::kDestroySemaphoreFieldNumber, [&] {
    writer.Fixed64(v1::DestroySemaphore::kSemaphoreFieldNumber, handle);
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
            writer.Message(v1::Command::kCreateSemaphoreFieldNumber, [&] {
              using Fields = v1::CreateSemaphore;
              writer.Fixed64(Fields::kSemaphoreFieldNumber, handle);
              writer.Varint(Fields::kDeviceFieldNumber, device);
              writer.Varint(Fields::kInitialValueFieldNumber, initial_value);
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
  return Signal(value, stream.handle());
}

absl::Status Semaphore::Signal(uint64_t value) const {
  return Signal(value, uint64_t{0});
}

absl::Status Semaphore::Signal(uint64_t value, uint64_t stream) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kSignalSemaphoreFieldNumber, [&] {
          using Fields = v1::SignalSemaphore;
          writer.Fixed64(Fields::kSemaphoreFieldNumber, handle());
          writer.Fixed64(Fields::kStreamFieldNumber, stream);
          writer.Varint(Fields::kValueFieldNumber, value);
        });
      })
      .status();
}

absl::Status Semaphore::Wait(uint64_t value, const Stream& stream) const {
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kWaitSemaphoreFieldNumber, [&] {
          using Fields = v1::WaitSemaphore;
          writer.Fixed64(Fields::kSemaphoreFieldNumber, handle());
          writer.Fixed64(Fields::kStreamFieldNumber, stream.handle());
          writer.Varint(Fields::kValueFieldNumber, value);
        });
      })
      .status();
}

absl::StatusOr<uint64_t> Semaphore::Value() const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](WireWriter& writer) {
        writer.Message(v1::Command::kReadSemaphoreFieldNumber, [&] {
          writer.Fixed64(v1::ReadSemaphore::kSemaphoreFieldNumber, handle());
        });
      }));
  return result.semaphore().value();
}

}  // namespace holdfast
