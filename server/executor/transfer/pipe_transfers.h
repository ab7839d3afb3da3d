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

// The executor's end of a pipe (TransferPipe): carries out the daemon's
// transfers, one after another. Devices read and write the pipe's slots
// directly. Belongs to the thread that serves the pipe's call. The thread that
// finds the end of a copy, which may be another, reports it to the daemon
// through the pipe at once.
class PipeTransfers {
 public:
  // The references must outlive this object.
  PipeTransfers(Session& session, ServedStream& call, UploadTries& tries,
                StallGuard& stall_guard, std::shared_ptr<TransferPipe> pipe);

  // Serves the pipe, and blocks until the call is cancelled or a transfer
  // fails. Sends a failure to the daemon through the pipe; the daemon then
  // makes another pipe. Each transfer waits for a pass of the session's gate,
  // and holds the pass until its end, so that the session is not suspended
  // meanwhile.
  absl::Status Serve();

 private:
  using Message = TransferPipe::Message;

  // Blocks until the daemon's next message has come. Returns false if the call
  // was cancelled. Returns the transfer's error as soon as the transfer fails.
  absl::StatusOr<bool> Next(Message* message);
  absl::Status Carry(const internal::BeginTransfer& begin);
  absl::Status Upload(const internal::BeginTransfer& begin);
  absl::Status Download(const internal::BeginTransfer& begin);
  // Makes transfer_. `copied` reports a piece to the daemon.
  absl::Status Begin(Transfer::Direction direction,
                     const v1::TransferRange& range,
                     std::function<absl::Status(const Piece&)> copied);

  // Blocks until the daemon has filled slots, and appends all that have come to
  // `pieces`. Returns false if the upload has no more bytes.
  absl::StatusOr<bool> TakeFilled(std::vector<Piece>* pieces);
  // Blocks until there is a free slot.
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
  // Set while the daemon must act next, because no piece is unfinished. The
  // transfer's events change it, and so does this object's thread before the
  // first piece and after the last.
  std::optional<StallGuard::Watch> stall_watch_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_
