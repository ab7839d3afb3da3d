// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_STAGING_RING_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_STAGING_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/submission/command_queue.h"
#include "client/cpp/transfer/arena.h"

namespace holdfast {

// Slots of an arena for copies between ordinary memory and devices.
// Thread-safe.
//
// A session's first large copy of ordinary memory makes the ring. Many small
// copies also make it, in the background. A copy acquires a slot, fills it,
// submits the command that copies from it, and returns it when the command is
// done.
class StagingRing {
 public:
  // Each slot has 2 MiB. All slots have 32 MiB of the session's arenas.
  static constexpr uint64_t kSlotBytes = uint64_t{2} << 20;
  static constexpr int kSlots = 16;
  static constexpr size_t kMaxKept = kSlots / 2;

  // A slot, which the destructor returns to the ring. Move-only. REQUIRES: no
  // copy uses it any more, and it does not outlive the ring.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : ring_(std::exchange(other.ring_, nullptr)),
          span_(std::move(other.span_)),
          may_be_kept_(other.may_be_kept_) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (ring_ != nullptr) ring_->GiveBack(std::move(span_), may_be_kept_);
    }

    // Writable memory of kSlotBytes bytes, not cleared.
    char* data() const { return static_cast<char*>(span_.data()); }
    // The arena's handle and the offset, for commands.
    uint64_t arena() const { return span_.arena().handle(); }
    uint64_t arena_offset() const { return span_.offset(); }

   private:
    friend class StagingRing;
    Slot(StagingRing* ring, ArenaSpan span, bool may_be_kept)
        : ring_(ring), span_(std::move(span)), may_be_kept_(may_be_kept) {}

    StagingRing* ring_;
    ArenaSpan span_;
    bool may_be_kept_;
  };

  enum class Make { kNot, kInBackground, kNow };

  // Returns the session's ring. Waits only with kNow: about 20 ms on a GPU, and
  // longer if memory must be freed first. Returns null if there is no ring yet,
  // or if no memory can be shared with the executor.
  static std::shared_ptr<StagingRing> Of(SessionState& session, Make make);
  // Releases the session's ring. Later calls of Of() make no ring for it.
  static void Close(SessionState& session);

  // Blocks until there is a slot. REQUIRES: the thread holds no slot, because
  // two threads could otherwise wait for each other.
  Slot Acquire();
  // Returns nullopt if no slot is free.
  std::optional<Slot> TryAcquire();
  // Returns a slot that may be passed to Keep, or nullopt. At most kMaxKept
  // slots can be kept, so that waiting copies get a slot.
  std::optional<Slot> TryAcquireToKeep();
  // Returns such a slot to the ring when the command of `result` is done.
  void Keep(Slot slot, PendingResult result);

 private:
  struct Kept {
    Slot slot;
    PendingResult result;
  };

  explicit StagingRing(std::shared_ptr<Arena> arena)
      : arena_(std::move(arena)) {}
  // Makes a ring; its arena is made in the background. Fails as Arena::Create.
  static absl::StatusOr<std::shared_ptr<StagingRing>> Create(
      std::shared_ptr<SessionState> session);
  // Takes a free slot. REQUIRES: a slot is free.
  Slot Take(bool may_be_kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(ArenaSpan span, bool may_be_kept);
  // Returns the oldest kept slots whose commands are done.
  void GiveBackDone();

  const std::shared_ptr<Arena> arena_;
  absl::Mutex mutex_;
  std::vector<ArenaSpan> free_ ABSL_GUARDED_BY(mutex_);
  size_t keepable_ ABSL_GUARDED_BY(mutex_) =
      0;  // slots in use that may be kept
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_STAGING_RING_H_
