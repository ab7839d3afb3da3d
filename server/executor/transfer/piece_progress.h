// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIECE_PROGRESS_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIECE_PROGRESS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "cuda.h"

namespace holdfast::executor {

// A part of a transfer: the bytes in one slot of a pipe (TransferPipe).
struct Piece {
  uint32_t slot = 0;
  uint64_t size = 0;      // bytes
  CUdeviceptr bytes = 0;  // the slot's address for devices
  bool last = false;      // no byte of the range follows it
};

// The pieces of one transfer that were started and are not finished. Reports
// the ends of pieces in the order of their start, although End may be called in
// any order. Thread-safe.
class PieceProgress {
 public:
  // The functions are called one at a time, with a lock held, by the thread in
  // Start or End. They must not block and must not call this object.
  struct Events {
    // Called when this piece and all pieces before it were copied. An error
    // that the function returns counts as an error of the piece.
    std::function<absl::Status(const Piece& piece)> copied;
    // Called when a piece has failed; status() has the error. No later piece is
    // reported.
    std::function<void()> failed;
    // Called with true when there are unfinished pieces and there were none
    // before, and with false when there are none any more.
    std::function<void(bool unfinished)> unfinished;
  };
  explicit PieceProgress(Events events) : events_(std::move(events)) {}

  // Adds pieces, and returns the number of the first. Pieces are numbered from
  // 0 in the order of Start.
  uint64_t Start(const std::vector<Piece>& pieces);
  // Notes the end of a piece. Only the first call for a piece has an effect.
  void End(uint64_t number, const absl::Status& status);

  // Returns the first error so far, in the order of the pieces; OK if there is
  // none.
  absl::Status status() const;
  // Blocks until all pieces are finished. Returns the first error.
  absl::Status Finish();

 private:
  struct Entry {
    Piece piece;
    std::optional<absl::Status> end;
  };

  // Reports the first piece, which is finished.
  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Events events_;
  mutable absl::Mutex mutex_;
  // The pieces from number reported_ on.
  std::deque<Entry> pieces_ ABSL_GUARDED_BY(mutex_);
  uint64_t reported_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PIECE_PROGRESS_H_
