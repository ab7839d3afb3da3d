// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/pipe_transfers.h"

#include <algorithm>
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
    HOLDFAST_ASSIGN_OR_RETURN(const bool open, Next(&message));
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

absl::StatusOr<bool> PipeTransfers::Next(Message* message) {
  for (;;) {
    if (call_.cancelled().stop_requested()) return false;
    if (transfer_ != nullptr) {
      HOLDFAST_RETURN_IF_ERROR(transfer_->status());
    }
    HOLDFAST_ASSIGN_OR_RETURN(const bool come, pipe_->Read(message));
    if (come) return true;
    pipe_->Await(transfer_ == nullptr ? 0 : transfer_->size(), kLookAnyway);
  }
}

absl::Status PipeTransfers::Carry(const internal::BeginTransfer& begin) {
  HOLDFAST_ASSIGN_OR_RETURN(const SessionGate::Pass pass,
                            session_.gate().Enter(call_.cancelled()));
  const auto end = absl::MakeCleanup([this] {
    transfer_.reset();  // Waits for what the device still has to do.
    stall_watch_.reset();
  });
  return begin.direction() == internal::BeginTransfer::DIRECTION_UPLOAD
             ? Upload(begin)
             : Download(begin);
}

absl::Status PipeTransfers::Begin(
    Transfer::Direction direction, const v1::TransferRange& range,
    std::function<absl::Status(const Piece&)> copied) {
  HOLDFAST_ASSIGN_OR_RETURN(
      transfer_,
      Transfer::Begin(direction, session_, range, call_.cancelled(),
                      {.copied = std::move(copied),
                       .failed = [pipe = pipe_] { pipe->Interrupt(); },
                       .unfinished =
                           [this](bool unfinished) {
                             if (unfinished) {
                               stall_watch_.reset();
                             } else {
                               stall_watch_.emplace(stall_guard_,
                                                    call_.context());
                             }
                           }}));
  return absl::OkStatus();
}

absl::Status PipeTransfers::Upload(const internal::BeginTransfer& begin) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::shared_ptr<void> entered,
      tries_.Enter(call_.context(), begin.upload_try(), call_.cancelled()));
  HOLDFAST_RETURN_IF_ERROR(Begin(
      Transfer::Direction::kUpload, begin.range(), [pipe = pipe_](auto& piece) {
        return pipe->Return(piece.slot) ? absl::OkStatus() : GivenUp();
      }));
  stall_watch_.emplace(stall_guard_, call_.context());
  for (bool more = true; more;) {
    std::vector<Piece> pieces;
    HOLDFAST_ASSIGN_OR_RETURN(more, TakeFilled(&pieces));
    HOLDFAST_RETURN_IF_ERROR(transfer_->Start(pieces, memory_));
  }
  HOLDFAST_RETURN_IF_ERROR(transfer_->FinishUpload());
  Message end;
  end.mutable_end()->mutable_upload()->set_size(transfer_->size());
  end.mutable_end()->mutable_upload()->set_path(v1::COPY_PATH_STREAM);
  return pipe_->Write(end);
}

absl::StatusOr<bool> PipeTransfers::TakeFilled(std::vector<Piece>* pieces) {
  do {
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool open, Next(&message));
    if (!open) return GivenUp();
    if (message.no_more_slots()) return false;
    if (!message.has_slot()) return Unexpected();
    Piece& piece = pieces->emplace_back();
    piece.slot = message.slot().index();
    piece.size = message.slot().size();
    HOLDFAST_ASSIGN_OR_RETURN(piece.bytes, memory_->AddressOf(piece.slot));
  } while (pipe_->Readable());
  return true;
}

absl::Status PipeTransfers::Download(const internal::BeginTransfer& begin) {
  HOLDFAST_RETURN_IF_ERROR(
      Begin(Transfer::Direction::kDownload, begin.range(),
            [pipe = pipe_](auto& piece) {
              Message message =
                  FilledSlot(piece.slot, static_cast<size_t>(piece.size));
              if (piece.last) message.mutable_end();
              return pipe->TryWrite(message) ? absl::OkStatus() : GivenUp();
            }));
  while (transfer_->rest() > 0) {
    HOLDFAST_RETURN_IF_ERROR(AwaitFree());
    HOLDFAST_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, TakeFree());
    HOLDFAST_RETURN_IF_ERROR(transfer_->Start(pieces, memory_));
  }
  HOLDFAST_RETURN_IF_ERROR(transfer_->Finish());
  if (transfer_->size() > 0) return absl::OkStatus();
  Message end;
  end.mutable_end();
  return pipe_->Write(end);
}

absl::Status PipeTransfers::AwaitFree() {
  while (!pipe_->HasFreeSlot() || pipe_->Readable()) {
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool open, Next(&message));
    if (!open) return GivenUp();
    if (!message.has_returned()) return Unexpected();
  }
  return transfer_->status();
}

absl::StatusOr<std::vector<Piece>> PipeTransfers::TakeFree() {
  std::vector<Piece> pieces;
  for (uint64_t rest = transfer_->rest(); rest > 0 && pipe_->HasFreeSlot();) {
    Piece& piece = pieces.emplace_back();
    piece.slot = pipe_->TakeSlot();
    piece.size = std::min<uint64_t>(TransferPipe::kSlotBytes, rest);
    HOLDFAST_ASSIGN_OR_RETURN(piece.bytes, memory_->AddressOf(piece.slot));
    rest -= piece.size;
    piece.last = rest == 0;
  }
  return pieces;
}

}  // namespace holdfast::executor
