// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/pipe_transfers.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// Messages and the call's end wake the thread; it also looks by itself, in case
// that the other end suppresses the wake-ups.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

absl::Status GivenUp() { return absl::CancelledError("given up"); }

absl::Status Unexpected() {
  return absl::InvalidArgumentError(
      "a message that is not due in a pipe for transfers");
}

}  // namespace

PipeTransfers::PipeTransfers(Session& session, ServedStream& call,
                             UploadTries& tries, StallGuard& stall_guard,
                             std::shared_ptr<TransferPipe> pipe)
    : session_(session),
      call_(call),
      tries_(tries),
      stall_guard_(stall_guard),
      pipe_(std::move(pipe)),
      memory_(std::make_shared<PinnedSlots>(session, pipe_)) {}

absl::Status PipeTransfers::Serve() {
  const std::stop_callback close(call_.cancelled(), [this] { pipe_->Close(); });
  for (;;) {
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool open,
                              Next(&message, /*in_transfer=*/false));
    if (!open) return absl::OkStatus();
    if (message.has_returned()) continue;  // The last ones of a download.
    absl::Status status = Unexpected();
    if (message.has_begin() && pipe_->IsEmpty())
      status = Carry(message.begin());
    if (status.ok()) continue;
    Message end;
    *end.mutable_end()->mutable_error() = ToError(status);
    (void)pipe_->Write(end);
    return status;
  }
}

absl::StatusOr<bool> PipeTransfers::Next(Message* message, bool in_transfer) {
  std::optional<StallGuard::Watch> watch;
  for (;;) {
    if (call_.cancelled().stop_requested()) return false;
    HOLDFAST_ASSIGN_OR_RETURN(const bool come, pipe_->Read(message));
    if (come) return true;
    if (in_transfer && !watch.has_value()) {
      watch.emplace(stall_guard_, call_.context());
    }
    pipe_->Await(in_transfer ? transfer_->size() : 0, kLookAnyway);
  }
}

absl::Status PipeTransfers::Carry(const internal::BeginTransfer& begin) {
  HOLDFAST_ASSIGN_OR_RETURN(const SessionGate::Pass pass,
                            session_.gate().Enter(call_.cancelled()));
  // Waits for what the device still has to do.
  const auto end = absl::MakeCleanup([this] {
    transfer_.reset();
    slots_.clear();
  });
  return begin.direction() == internal::BeginTransfer::DIRECTION_UPLOAD
             ? Upload(begin)
             : Download(begin);
}

absl::Status PipeTransfers::Upload(const internal::BeginTransfer& begin) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::shared_ptr<void> entered,
      tries_.Enter(call_.context(), begin.upload_try(), call_.cancelled()));
  HOLDFAST_ASSIGN_OR_RETURN(
      transfer_, Transfer::Begin(Transfer::Direction::kUpload, session_,
                                 begin.range(), call_.cancelled()));
  for (;;) {
    // The daemon may be waiting for their slots.
    while (!pipe_->Readable() && !slots_.empty()) {
      HOLDFAST_RETURN_IF_ERROR(FinishUpload());
    }
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool open,
                              Next(&message, /*in_transfer=*/true));
    if (!open) return GivenUp();
    if (message.no_more_slots()) break;
    if (!message.has_slot()) return Unexpected();
    HOLDFAST_RETURN_IF_ERROR(StartUpload(message.slot()));
  }
  while (!slots_.empty()) HOLDFAST_RETURN_IF_ERROR(FinishUpload());
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size, transfer_->FinishUpload());
  Message end;
  end.mutable_end()->mutable_upload()->set_size(size);
  end.mutable_end()->mutable_upload()->set_path(v1::COPY_PATH_STREAM);
  return pipe_->Write(end);
}

absl::Status PipeTransfers::StartUpload(const internal::FilledSlot& slot) {
  while (!transfer_->MayStart()) HOLDFAST_RETURN_IF_ERROR(FinishUpload());
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr bytes,
                            memory_->AddressOf(slot.index()));
  HOLDFAST_RETURN_IF_ERROR(transfer_->Start(bytes, slot.size(), memory_));
  slots_.push_back(slot);
  return absl::OkStatus();
}

absl::Status PipeTransfers::FinishUpload() {
  HOLDFAST_RETURN_IF_ERROR(transfer_->FinishOldest());
  const uint32_t slot = slots_.front().index();
  slots_.pop_front();
  return pipe_->Return(slot) ? absl::OkStatus() : GivenUp();
}

absl::Status PipeTransfers::Download(const internal::BeginTransfer& begin) {
  HOLDFAST_ASSIGN_OR_RETURN(
      transfer_, Transfer::Begin(Transfer::Direction::kDownload, session_,
                                 begin.range(), call_.cancelled()));
  while (transfer_->rest() > 0 || !slots_.empty()) {
    while (pipe_->Readable()) HOLDFAST_RETURN_IF_ERROR(AwaitReturn());
    if (transfer_->rest() > 0 && transfer_->MayStart() &&
        pipe_->HasFreeSlot()) {
      HOLDFAST_RETURN_IF_ERROR(StartDownload());
    } else if (!slots_.empty()) {
      HOLDFAST_RETURN_IF_ERROR(FinishDownload());
    } else {
      HOLDFAST_RETURN_IF_ERROR(AwaitReturn());
    }
  }
  if (transfer_->size() > 0) return absl::OkStatus();
  Message end;
  end.mutable_end();
  return pipe_->Write(end);
}

absl::Status PipeTransfers::StartDownload() {
  internal::FilledSlot slot;
  slot.set_index(pipe_->TakeSlot());
  slot.set_size(static_cast<uint32_t>(
      std::min<uint64_t>(TransferPipe::kSlotBytes, transfer_->rest())));
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr bytes,
                            memory_->AddressOf(slot.index()));
  HOLDFAST_RETURN_IF_ERROR(transfer_->Start(bytes, slot.size(), memory_));
  slots_.push_back(slot);
  return absl::OkStatus();
}

absl::Status PipeTransfers::FinishDownload() {
  HOLDFAST_RETURN_IF_ERROR(transfer_->FinishOldest());
  Message message;
  *message.mutable_slot() = slots_.front();
  slots_.pop_front();
  if (transfer_->rest() == 0 && slots_.empty()) message.mutable_end();
  return pipe_->Write(message);
}

absl::Status PipeTransfers::AwaitReturn() {
  Message message;
  HOLDFAST_ASSIGN_OR_RETURN(const bool open,
                            Next(&message, /*in_transfer=*/true));
  if (!open) return GivenUp();
  return message.has_returned() ? absl::OkStatus() : Unexpected();
}

}  // namespace holdfast::executor
