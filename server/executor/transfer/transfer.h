// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/transfers.pb.h"
#include "server/executor/session/session.h"
#include "server/executor/transfer/piece_progress.h"

namespace holdfast::executor {

// A transfer of bytes between host memory and a buffer, in consecutive pieces.
// The caller owns the host memory of each piece. Not thread-safe.
class Transfer {
 public:
  enum class Direction { kUpload, kDownload };

  // Blocks until the command range.after_sequence was processed, and checks the
  // whole range. `events` are called with the ends of pieces. CANCELLED: a stop
  // of `cancelled` was requested. Otherwise fails as Session::AwaitSequence, or
  // as a copy of the range. REQUIRES: `session` outlives the transfer.
  static absl::StatusOr<std::unique_ptr<Transfer>> Begin(
      Direction direction, Session& session, const v1::TransferRange& range,
      const std::stop_token& cancelled, PieceProgress::Events events);
  // Blocks until all pieces are finished.
  ~Transfer() { (void)Finish(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // The bytes of the range, and the bytes that are not in a started piece.
  uint64_t size() const { return range_.size(); }
  uint64_t rest() const { return range_.size() - started_; }

  // Starts the next pieces as one step of the submission thread, and does not
  // wait for their end. `holder`, which keeps their memory, is released when
  // the device has finished with all of them. INVALID_ARGUMENT: the pieces have
  // more bytes than rest().
  absl::Status Start(const std::vector<Piece>& pieces,
                     const std::shared_ptr<const void>& holder);

  // Returns the error of the first piece that has failed, if it is known.
  absl::Status status() const { return progress_->status(); }
  // Blocks until all pieces are finished. Returns the first error.
  absl::Status Finish() { return progress_->Finish(); }
  // Like Finish, for an upload. INVALID_ARGUMENT: bytes of the range are
  // missing.
  absl::Status FinishUpload();

 private:
  Transfer(Direction direction, Session& session,
           const v1::TransferRange& range, PieceProgress::Events events)
      : direction_(direction),
        session_(session),
        range_(range),
        progress_(std::make_shared<PieceProgress>(std::move(events))) {}

  const Direction direction_;
  Session& session_;
  const v1::TransferRange range_;
  uint64_t started_ = 0;  // bytes
  const std::shared_ptr<PieceProgress> progress_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
