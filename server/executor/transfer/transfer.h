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

// A transfer of bytes between host memory and a buffer, in consecutive pieces.
// The caller owns the host memory of each piece. Not thread-safe.
class Transfer {
 public:
  enum class Direction { kUpload, kDownload };

  // Waits for the command range.after_sequence, and checks the whole range.
  // CANCELLED: the client has given up. `session` must outlive the transfer.
  static absl::StatusOr<std::unique_ptr<Transfer>> Begin(
      Direction direction, Session& session, const v1::TransferRange& range,
      const std::stop_token& cancelled);
  // Waits for all pieces.
  ~Transfer() { (void)FinishAll(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // The bytes of the range, and the bytes that no started piece covers.
  uint64_t size() const { return range_.size(); }
  uint64_t rest() const { return range_.size() - started_; }

  // The pieces that were started and not finished.
  size_t pieces() const { return pieces_.size(); }
  // Returns true if another piece may be started before one is finished.
  bool MayStart() const { return pieces_.size() < kMaxPieces; }

  // Starts the next piece, of `size` bytes, to or from the device address
  // `bytes`. `holder` is released when the device has finished with the bytes.
  // FinishOldest returns the copy's error. INVALID_ARGUMENT: the piece is
  // larger than rest(). REQUIRES: MayStart.
  absl::Status Start(CUdeviceptr bytes, uint64_t size,
                     std::shared_ptr<const void> holder);
  // Waits for the oldest piece. REQUIRES: there is one.
  absl::Status FinishOldest();
  // Waits for all pieces. Returns the first error.
  absl::Status FinishAll();
  // FinishAll for an upload. Returns its size. INVALID_ARGUMENT: bytes are
  // missing.
  absl::StatusOr<uint64_t> FinishUpload();

 private:
  // The most unfinished pieces. The network transfers other pieces meanwhile.
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
