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
#include "cuda.h"
#include "holdfast/v1/transfers.pb.h"
#include "server/executor/session/session.h"

namespace holdfast::executor {

// Bytes on their way between host memory and a buffer, in pieces, in order.
// Where a piece lies in host memory is its caller's matter. Not thread-safe.
class Transfer {
 public:
  enum class Direction { kUpload, kDownload };

  // Waits for the commands that the range names and checks it as a whole.
  // CANCELLED: the client has given up. `session` must outlive the transfer.
  static absl::StatusOr<std::unique_ptr<Transfer>> Begin(
      Direction direction, Session& session, const v1::TransferRange& range,
      const std::stop_token& cancelled);
  // Waits for the pieces, whose outcome nobody may know otherwise.
  ~Transfer() { (void)FinishAll(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Bytes, and those of which no piece was started.
  uint64_t size() const { return range_.size(); }
  uint64_t rest() const { return range_.size() - started_; }

  // Pieces that were started and not finished.
  size_t pieces() const { return pieces_.size(); }
  // May another piece be started before one is finished?
  bool MayStart() const { return pieces_.size() < kMaxPieces; }

  // The next `size` bytes, to or from where devices find `bytes`. `holder` is
  // dropped when a device has done with them. INVALID_ARGUMENT: they are more
  // than rest(). REQUIRES: MayStart.
  absl::Status Start(CUdeviceptr bytes, uint64_t size,
                     std::shared_ptr<const void> holder);
  // Waits for the oldest piece. REQUIRES: there is one.
  absl::Status FinishOldest();
  // Waits for all; the first failure.
  absl::Status FinishAll();
  // FinishAll of an upload: its size. INVALID_ARGUMENT: bytes are missing.
  absl::StatusOr<uint64_t> FinishUpload();

 private:
  // For the device at a time; others are with the network.
  static constexpr size_t kMaxPieces = 4;

  class Completion;

  Transfer(Direction direction, Session& session,
           const v1::TransferRange& range)
      : direction_(direction), session_(session), range_(range) {}
  // Runs on the submission thread.
  static absl::Status Copy(Direction direction, Resources& resources,
                           const v1::TransferRange& piece, CUdeviceptr bytes,
                           std::function<void(const absl::Status&)> done);

  const Direction direction_;
  Session& session_;
  const v1::TransferRange range_;
  uint64_t started_ = 0;  // bytes
  std::deque<std::shared_ptr<Completion>> pieces_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_H_
