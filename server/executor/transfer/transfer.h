// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_

#include <cstddef>
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
#include "server/executor/transfer/transfer_memory.h"
#include "server/relay/shared_blocks.h"

namespace holdfast::executor {

// Bytes on their way between a client and a buffer, in pieces of a block, in
// order: while the device copies some of them, the network has others. Not
// thread-safe.
class Transfer {
 public:
  enum class Direction { kUpload, kDownload };

  // Waits for the commands that the range names, checks it as a whole and waits
  // for a place in the staging. CANCELLED: the client has given up. `session`
  // must outlive the transfer, whose memory is that of `blocks`.
  static absl::StatusOr<std::unique_ptr<Transfer>> Begin(
      Direction direction, Session& session, const v1::TransferRange& range,
      const std::shared_ptr<SharedBlocks>& blocks, std::stop_token cancelled);
  // Waits for the pieces, whose outcome nobody may know otherwise.
  ~Transfer() { (void)FinishAll(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Bytes of which no piece was started, and how many a piece may have.
  uint64_t rest() const { return range_.size() - started_; }
  uint64_t max_piece() const { return memory_->staging()->block_bytes(); }
  TransferMemory& memory() const { return *memory_; }

  // Pieces that were started and not finished.
  bool HasPieces() const { return !pieces_.empty(); }

  // May another piece be started before one is finished?
  bool MayStart() const { return pieces_.size() < kMaxPieces; }

  // For the next piece. nullptr: one that was started has to be finished first.
  absl::StatusOr<Staging::BlockPtr> NextBlock();
  // Never waits; nullptr: there is none.
  absl::StatusOr<Staging::BlockPtr> TryNextBlock();

  // The next `size` bytes of a download, to the block's front.
  void StartDownload(Staging::BlockPtr block, uint64_t size);
  // Waits for the oldest piece, of which `*size` bytes are in the block.
  absl::StatusOr<Staging::BlockPtr> FinishOldest(uint64_t* size);

  // The next `size` bytes of an upload, from where devices find them. `holder`
  // is dropped when they have been copied.
  void StartUpload(CUdeviceptr bytes, uint64_t size,
                   std::shared_ptr<const void> holder);
  // Waits for all; the first failure.
  absl::Status FinishAll();

 private:
  // For the device at a time; another one is with the network.
  static constexpr size_t kMaxPieces = 4;

  class Completion;
  struct Piece {
    std::shared_ptr<Completion> completion;
    Staging::BlockPtr block;  // of a download
    uint64_t size = 0;
  };

  Transfer(Direction direction, Session& session,
           const v1::TransferRange& range, std::stop_token cancelled,
           std::shared_ptr<TransferMemory> memory,
           std::shared_ptr<Staging::Place> place);
  void Start(CUdeviceptr bytes, uint64_t size,
             std::shared_ptr<const void> holder, Staging::BlockPtr block);
  // Runs on the submission thread.
  static absl::Status Copy(Direction direction, Resources& resources,
                           const v1::TransferRange& piece, CUdeviceptr bytes,
                           std::function<void(const absl::Status&)> done);

  const Direction direction_;
  Session& session_;
  const v1::TransferRange range_;
  const std::stop_token cancelled_;
  const std::shared_ptr<TransferMemory> memory_;
  const std::shared_ptr<Staging::Place> place_;
  uint64_t started_ = 0;  // bytes
  std::deque<Piece> pieces_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
