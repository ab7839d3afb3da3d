// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_pipe.h"

#include <bit>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr size_t kSlotsBytes = TransferPipe::kSlots * TransferPipe::kSlotBytes;
constexpr uint32_t kAllSlots = (1u << TransferPipe::kSlots) - 1;

// The longest is that of an error, with its explanation.
constexpr size_t kLongestMessage = size_t{64} << 10;

constexpr uint32_t BitOf(uint32_t slot) { return 1u << slot; }

absl::Status CheckSlot(uint32_t slot) {
  if (slot < TransferPipe::kSlots) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "slot ", slot, " of a pipe that has ", TransferPipe::kSlots));
}

absl::Status CheckFilled(const internal::FilledSlot& slot) {
  HOLDFAST_RETURN_IF_ERROR(CheckSlot(slot.index()));
  if (slot.size() > 0 && slot.size() <= TransferPipe::kSlotBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(slot.size(), " bytes in a slot of a pipe: 1 to ",
                   TransferPipe::kSlotBytes, " are possible"));
}

}  // namespace

absl::StatusOr<UniqueFd> TransferPipe::CreateMemory() {
  return RingPair::CreateMemory(kSlotsBytes);
}

absl::StatusOr<std::unique_ptr<TransferPipe>> TransferPipe::Map(int memfd,
                                                                End end) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto rings, RingPair::Map(memfd,
                                end == End::kDaemon ? RingPair::End::kClient
                                                    : RingPair::End::kExecutor,
                                kLongestMessage, kSlotsBytes));
  return std::unique_ptr<TransferPipe>(new TransferPipe(std::move(rings)));
}

absl::StatusOr<bool> TransferPipe::Read(Message* message) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::optional<absl::string_view> bytes,
                            rings_->reader().Read());
  if (!bytes.has_value()) return false;
  if (!message->ParseFromArray(bytes->data(),
                               static_cast<int>(bytes->size()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", bytes->size(), " bytes is no PipeMessage"));
  }
  HOLDFAST_RETURN_IF_ERROR(Note(*message));
  return true;
}

void TransferPipe::Await(uint64_t bytes, absl::Duration limit) {
  RingReader& reader = rings_->reader();
  return bytes > kSlotsBytes ? reader.Sleep(limit) : reader.Await(limit);
}

absl::Status TransferPipe::Note(const Message& message) {
  if (!message.has_slot() && !message.has_returned()) return absl::OkStatus();
  const bool filled = message.has_slot();
  const uint32_t slot = filled ? message.slot().index() : message.returned();
  HOLDFAST_RETURN_IF_ERROR(filled ? CheckFilled(message.slot())
                                  : CheckSlot(slot));
  absl::MutexLock lock(&mutex_);
  if (filled == ((used_slots_ & BitOf(slot)) != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("slot ", slot, " of a pipe was ",
                     filled ? "filled by one end while the other had it"
                            : "returned by an end that did not have it"));
  }
  used_slots_ ^= BitOf(slot);
  return absl::OkStatus();
}

absl::Status TransferPipe::Write(const Message& message) {
  const std::string bytes = message.SerializeAsString();
  absl::MutexLock lock(&write_mutex_);
  return rings_->writer().Write(bytes);
}

bool TransferPipe::TryWrite(const Message& message) {
  const std::string bytes = message.SerializeAsString();
  absl::MutexLock lock(&write_mutex_);
  return rings_->writer().TryWrite(bytes).value_or(false);
}

bool TransferPipe::HasFreeSlot() const {
  absl::MutexLock lock(&mutex_);
  return used_slots_ != kAllSlots;
}

// The lowest is taken first: as few pages are used as the traffic needs.
uint32_t TransferPipe::TakeSlot() {
  absl::MutexLock lock(&mutex_);
  const int slot = std::countr_one(used_slots_);
  used_slots_ |= 1u << slot;
  return static_cast<uint32_t>(slot);
}

bool TransferPipe::Return(uint32_t slot) {
  {
    absl::MutexLock lock(&mutex_);
    used_slots_ &= ~BitOf(slot);
  }
  return TryWrite(ReturnedSlot(slot));
}

bool TransferPipe::IsEmpty() const {
  absl::MutexLock lock(&mutex_);
  return used_slots_ == 0;
}

internal::PipeMessage FilledSlot(uint32_t slot, size_t size) {
  internal::PipeMessage message;
  message.mutable_slot()->set_index(slot);
  message.mutable_slot()->set_size(static_cast<uint32_t>(size));
  return message;
}

internal::PipeMessage ReturnedSlot(uint32_t slot) {
  internal::PipeMessage message;
  message.set_returned(slot);
  return message;
}

}  // namespace holdfast
