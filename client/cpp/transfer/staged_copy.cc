// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/staged_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/start_thread.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

using Slot = StagingRing::Slot;

// One thread copies about 10 GB/s; the executor needs processors, too.
constexpr unsigned kMaxThreads = 8;
// Pieces that one thread has on their way: one is copied here while the
// device copies the other.
constexpr size_t kAhead = 2;
// Small copies are cut into smaller pieces, so that both sides have some.
constexpr uint64_t kSmallCopy = uint64_t{16} << 20;
constexpr uint64_t kSmallPiece = uint64_t{512} << 10;

// A part of the copy, of one slot at most.
struct Piece {
  uint64_t at = 0;  // bytes from the beginning of the copy
  uint64_t size = 0;
};

// Hands the pieces of one copy to its threads. Thread-safe.
class Pieces {
 public:
  explicit Pieces(uint64_t size)
      : size_(size),
        piece_(size < kSmallCopy ? kSmallPiece : StagingRing::kSlotBytes) {}

  // nullopt: there are no more, or there is no point in more.
  std::optional<Piece> Next() {
    const uint64_t at = next_.fetch_add(piece_);
    if (at >= size_) return std::nullopt;
    return Piece{at, std::min(piece_, size_ - at)};
  }
  void Stop() { next_ = size_; }

  unsigned threads() const {
    const uint64_t pieces = (size_ + piece_ - 1) / piece_;
    const unsigned most =
        std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMaxThreads);
    return static_cast<unsigned>(
        std::clamp<uint64_t>(pieces / kAhead, 1, most));
  }

 private:
  const uint64_t size_;
  const uint64_t piece_;
  std::atomic<uint64_t> next_{0};
};

// One direction of a copy: how a piece begins, and what remains to be done when
// the device has done its part.
struct Direction {
  std::function<absl::StatusOr<PendingResult>(const Piece&, const Slot&)> begin;
  std::function<void(const Piece&, const Slot&)> end;
};

struct Started {
  Piece piece;
  Slot slot;
  PendingResult result;
};

// Waits in any case: afterwards nobody uses the slot.
absl::Status Finish(std::deque<Started>& started, const Direction& direction) {
  const Started oldest = std::move(started.front());
  started.pop_front();
  HOLDFAST_RETURN_IF_ERROR(oldest.result.Wait().status());
  direction.end(oldest.piece, oldest.slot);
  return absl::OkStatus();
}

// Begins one piece more, if there is a slot for it; false: there is none, or no
// piece.
absl::StatusOr<bool> BeginOne(StagingRing& ring, Pieces& pieces,
                              const Direction& direction,
                              std::deque<Started>& started) {
  if (started.size() == kAhead) return false;
  std::optional<Slot> slot =
      started.empty() ? std::optional<Slot>(ring.Acquire()) : ring.TryAcquire();
  if (!slot.has_value()) return false;
  const std::optional<Piece> piece = pieces.Next();
  if (!piece.has_value()) return false;
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result,
                            direction.begin(*piece, *slot));
  started.push_back({*piece, *std::move(slot), std::move(result)});
  return true;
}

// The loop of each thread.
absl::Status CopyPieces(StagingRing& ring, Pieces& pieces,
                        const Direction& direction) {
  std::deque<Started> started;
  absl::Status first;
  while (true) {
    absl::StatusOr<bool> begun = BeginOne(ring, pieces, direction, started);
    absl::Status status = begun.status();
    if (status.ok() && !*begun) {
      // With nothing started there was a slot: so there is no piece.
      if (started.empty()) return first;
      status = Finish(started, direction);
    }
    if (!status.ok()) pieces.Stop();
    if (first.ok()) first = std::move(status);
  }
}

absl::Status Copy(StagingRing& ring, const TransferTarget& target,
                  const Direction& direction) {
  HOLDFAST_RETURN_IF_ERROR(target.CheckRange());
  Pieces pieces(target.size);
  std::vector<absl::Status> outcomes(pieces.threads());
  std::vector<std::function<void()>> jobs;
  jobs.reserve(outcomes.size());
  for (absl::Status& outcome : outcomes) {
    jobs.emplace_back([&ring, &pieces, &direction, &outcome] {
      outcome = CopyPieces(ring, pieces, direction);
    });
  }
  RunSideBySide(std::move(jobs));
  for (const absl::Status& outcome : outcomes) {
    HOLDFAST_RETURN_IF_ERROR(outcome);
  }
  return absl::OkStatus();
}

// Writes one CopyIn or CopyOut, which have the same fields.
template <typename Fields>
void WritePiece(WireWriter& writer, wire::MessageField command,
                const TransferTarget& target, const Piece& piece,
                const Slot& slot) {
  writer.Message(command, [&] {
    writer.Write(Fields::kStream, target.stream);
    writer.Write(Fields::kBuffer, target.buffer);
    writer.Write(Fields::kOffset, target.offset + piece.at);
    writer.Write(Fields::kArena, slot.arena());
    writer.Write(Fields::kArenaOffset, slot.arena_offset());
    writer.Write(Fields::kSize, piece.size);
    writer.Write(Fields::kReport, 1);
    writer.Write(Fields::kStaged, 1);
  });
}

void WriteIn(WireWriter& writer, const TransferTarget& target,
             const Piece& piece, const Slot& slot) {
  WritePiece<v1::fields::CopyIn>(writer, v1::fields::Command::kCopyIn, target,
                                 piece, slot);
}

void WriteOut(WireWriter& writer, const TransferTarget& target,
              const Piece& piece, const Slot& slot) {
  WritePiece<v1::fields::CopyOut>(writer, v1::fields::Command::kCopyOut, target,
                                  piece, slot);
}

absl::StatusOr<PendingResult> Send(SessionState& session,
                                   CommandQueue::Encode encode) {
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result,
                            session.queue.SubmitForResult(encode));
  session.queue.Flush();
  return result;
}

}  // namespace

absl::Status StagedUpload(SessionState& session, StagingRing& ring,
                          const TransferTarget& target, const char* data) {
  Direction in;
  in.begin = [&](const Piece& piece, const Slot& slot) {
    std::memcpy(slot.data(), data + piece.at, piece.size);
    return Send(session, [&](WireWriter& writer) {
      WriteIn(writer, target, piece, slot);
    });
  };
  in.end = [](const Piece&, const Slot&) {};
  return Copy(ring, target, in);
}

absl::Status StagedDownload(SessionState& session, StagingRing& ring,
                            const TransferTarget& target, char* data) {
  Direction out;
  out.begin = [&](const Piece& piece, const Slot& slot) {
    return Send(session, [&](WireWriter& writer) {
      WriteOut(writer, target, piece, slot);
    });
  };
  out.end = [data](const Piece& piece, const Slot& slot) {
    std::memcpy(data + piece.at, slot.data(), piece.size);
  };
  return Copy(ring, target, out);
}

absl::StatusOr<bool> UploadThroughSlot(SessionState& session, StagingRing& ring,
                                       const TransferTarget& target,
                                       const char* data) {
  std::optional<Slot> slot = ring.TryAcquireToKeep();
  if (!slot.has_value()) return false;
  std::memcpy(slot->data(), data, target.size);
  HOLDFAST_ASSIGN_OR_RETURN(
      PendingResult result,
      session.queue.SubmitUntilDone([&](WireWriter& writer) {
        WriteIn(writer, target, {0, target.size}, *slot);
      }));
  ring.Keep(*std::move(slot), std::move(result));
  return true;
}

// A copy that is not waited for to its end keeps its slot until then.
absl::StatusOr<bool> DownloadThroughSlot(SessionState& session,
                                         StagingRing& ring,
                                         const TransferTarget& target,
                                         char* data) {
  std::optional<Slot> slot = ring.TryAcquireToKeep();
  if (!slot.has_value()) return false;
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result,
                            Send(session, [&](WireWriter& writer) {
                              WriteOut(writer, target, {0, target.size}, *slot);
                            }));
  const absl::Status copied = session.queue.Await(result).status();
  if (copied.ok()) std::memcpy(data, slot->data(), target.size);
  if (!result.IsDone()) ring.Keep(*std::move(slot), std::move(result));
  HOLDFAST_RETURN_IF_ERROR(copied);
  return true;
}

}  // namespace holdfast
