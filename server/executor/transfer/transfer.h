// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/transfers.pb.h"
#include "server/executor/session.h"
#include "server/executor/transfer/staging.h"

namespace holdfast::executor {

// Bytes on their way between a client and a buffer, in pieces of a staging
// block, in order: while the device copies some of them, the network has
// others. Not thread-safe.
class Transfer {
 public:
  enum class Direction { kUpload, kDownload };

  // Waits for the commands that the range names, checks it as a whole and waits
  // for a place in the staging. CANCELLED: the client has given up. `session`
  // must outlive the transfer.
  static absl::StatusOr<std::unique_ptr<Transfer>> Begin(
      Direction direction, Session& session, const v1::TransferRange& range,
      std::stop_token cancelled);
  // Waits for the pieces, whose outcome nobody may know otherwise.
  ~Transfer() { (void)FinishAll(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Bytes of which no piece was started, and how many a piece may have.
  uint64_t rest() const { return range_.size() - started_; }
  uint64_t max_piece() const { return staging_->block_bytes(); }

  // Pieces that were started and not finished.
  bool HasPieces() const { return !pieces_.empty(); }

  // For the next piece. nullptr: one that was started has to be finished first.
  absl::StatusOr<Staging::BlockPtr> NextBlock();

  // The next `size` bytes, to or from the block's front.
  void Start(Staging::BlockPtr block, uint64_t size);

  // Waits for the oldest piece; of a download, `*size` bytes are in the block.
  absl::StatusOr<Staging::BlockPtr> FinishOldest(uint64_t* size);
  // Waits for all; the first failure.
  absl::Status FinishAll();

 private:
  class Completion;
  struct Piece {
    std::shared_ptr<Completion> completion;
    Staging::BlockPtr block;
    uint64_t size = 0;
  };

  Transfer(Direction direction, Session& session,
           const v1::TransferRange& range, std::stop_token cancelled,
           std::shared_ptr<Staging> staging,
           std::shared_ptr<Staging::Place> place);
  // Runs on the submission thread.
  static absl::Status Copy(Direction direction, Resources& resources,
                           const v1::TransferRange& piece,
                           const Staging::BlockPtr& block,
                           std::function<void(const absl::Status&)> done);

  const Direction direction_;
  Session& session_;
  const v1::TransferRange range_;
  const std::stop_token cancelled_;
  const std::shared_ptr<Staging> staging_;
  const std::shared_ptr<Staging::Place> place_;
  uint64_t started_ = 0;  // bytes
  std::deque<Piece> pieces_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
