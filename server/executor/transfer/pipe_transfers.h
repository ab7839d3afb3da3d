// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/transfers.pb.h"
#include "holdfast/v1/transfers.pb.h"
#include "server/executor/attach/upload_tries.h"
#include "server/executor/session/session.h"
#include "server/executor/transfer/piece_progress.h"
#include "server/executor/transfer/pinned_slots.h"
#include "server/executor/transfer/transfer.h"
#include "server/relay/transfer_pipe.h"
#include "server/rpc/served_stream.h"
#include "server/rpc/stall_guard.h"

namespace holdfast::executor {

// The executor's end of a pipe: carries out the daemon's transfers, one after
// another. Devices read and write the pipe's slots directly. Used by the thread
// that serves the pipe's call; the thread that learns of a copy's end tells the
// daemon of it at once.
class PipeTransfers {
 public:
  // The references must outlive this object.
  PipeTransfers(Session& session, ServedStream& call, UploadTries& tries,
                StallGuard& stall_guard, std::shared_ptr<TransferPipe> pipe);

  // Serves the pipe until the call is cancelled, or a transfer fails. A failure
  // is sent to the daemon through the pipe; the daemon then makes another pipe.
  // Each transfer waits for a pass of the session's gate, and holds the pass
  // until its end, so that the session is not suspended meanwhile.
  absl::Status Serve();

 private:
  using Message = TransferPipe::Message;

  // Waits for the daemon's next message. Returns false if the call was
  // cancelled. Fails as soon as the transfer does.
  absl::StatusOr<bool> Next(Message* message);
  absl::Status Carry(const internal::BeginTransfer& begin);
  absl::Status Upload(const internal::BeginTransfer& begin);
  absl::Status Download(const internal::BeginTransfer& begin);
  // Makes transfer_. `copied` tells the daemon of a piece.
  absl::Status Begin(Transfer::Direction direction,
                     const v1::TransferRange& range,
                     std::function<absl::Status(const Piece&)> copied);

  // Waits for slots that the daemon has filled, and adds all that have come.
  // Returns false if the upload has no more.
  absl::StatusOr<bool> TakeFilled(std::vector<Piece>* pieces);
  // Waits until there is a free slot.
  absl::Status AwaitFree();
  // Takes all free slots that the rest of a download needs.
  absl::StatusOr<std::vector<Piece>> TakeFree();

  Session& session_;
  ServedStream& call_;
  UploadTries& tries_;
  StallGuard& stall_guard_;
  const std::shared_ptr<TransferPipe> pipe_;
  const std::shared_ptr<PinnedSlots> memory_;
  std::unique_ptr<Transfer> transfer_;
  // Set while the daemon must do something next: no piece is unfinished. The
  // transfer's events change it, and this object's thread does before the first
  // piece and after the last.
  std::optional<StallGuard::Watch> stall_watch_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_
