// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/transfers.pb.h"
#include "server/executor/attach/upload_tries.h"
#include "server/executor/session/session.h"
#include "server/executor/transfer/pinned_slots.h"
#include "server/executor/transfer/transfer.h"
#include "server/relay/transfer_pipe.h"
#include "server/rpc/served_stream.h"
#include "server/rpc/stall_guard.h"

namespace holdfast::executor {

// The executor's end of a pipe: carries out the daemon's transfers, one after
// another. Devices read and write the pipe's slots directly. Used by the thread
// that serves the pipe's call.
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
  // cancelled. Within a transfer, the StallGuard limits the wait.
  absl::StatusOr<bool> Next(Message* message, bool in_transfer);
  absl::Status Carry(const internal::BeginTransfer& begin);
  absl::Status Upload(const internal::BeginTransfer& begin);
  absl::Status Download(const internal::BeginTransfer& begin);

  absl::Status StartUpload(const internal::FilledSlot& slot);
  // Waits for the oldest piece of an upload and returns its slot.
  absl::Status FinishUpload();
  absl::Status StartDownload();
  // Waits for the oldest piece of a download and sends it, the last one with
  // the transfer's end.
  absl::Status FinishDownload();
  // Waits until the daemon has returned a slot.
  absl::Status AwaitReturn();

  Session& session_;
  ServedStream& call_;
  UploadTries& tries_;
  StallGuard& stall_guard_;
  const std::shared_ptr<TransferPipe> pipe_;
  const std::shared_ptr<PinnedSlots> memory_;
  // The slots of the pieces that are not finished, oldest first.
  std::deque<internal::FilledSlot> slots_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIPE_TRANSFERS_H_
