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

// Slots of an arena, through which bytes of ordinary memory pass on their way
// to and from a device. Thread-safe.
//
// Made for a session when the first large copy of ordinary memory needs it, or
// after many small ones, which do not wait for it. A copy acquires a slot,
// fills it, submits the command that copies from it, and gives it back when
// that is done.
class StagingRing {
 public:
  // 2 MiB each, 32 MiB together, of the session's arenas.
  static constexpr uint64_t kSlotBytes = uint64_t{2} << 20;
  static constexpr int kSlots = 16;
  static constexpr size_t kMaxKept = kSlots / 2;

  // Gives itself back; no copy may be using it any more then. Move-only.
  // REQUIRES: it does not outlive the ring.
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

    // Writable memory of kSlotBytes bytes, with what was there before.
    char* data() const { return static_cast<char*>(span_.data()); }
    // Its place, as commands name it.
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

  // The session's ring. Waits only to make it now: some 20 ms on a GPU, and
  // longer while the session's shared memory is used up but for some that is
  // being freed. nullptr: there is none yet; or no memory can be shared with
  // the executor, or no more of it.
  static std::shared_ptr<StagingRing> Of(SessionState& session, Make make);
  // Gives up the session's ring, and makes no other.
  static void Close(SessionState& session);

  // Blocks until there is a slot. REQUIRES: the thread holds none, or two
  // threads could wait for each other.
  Slot Acquire();
  // nullopt rather than waiting.
  std::optional<Slot> TryAcquire();
  // The same for a slot that may be kept: half of them at most, so that copies
  // that wait for a slot get one.
  std::optional<Slot> TryAcquireToKeep();
  // Gives such a slot back when the command that uses it is done.
  void Keep(Slot slot, PendingResult result);

 private:
  struct Kept {
    Slot slot;
    PendingResult result;
  };

  explicit StagingRing(std::shared_ptr<Arena> arena)
      : arena_(std::move(arena)) {}
  // Its arena is made in the background. Fails as Arena::Create.
  static absl::StatusOr<std::shared_ptr<StagingRing>> Create(
      std::shared_ptr<SessionState> session);
  // REQUIRES: one is free.
  Slot Take(bool may_be_kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(ArenaSpan span, bool may_be_kept);
  // Gives back the oldest that are kept, as far as their commands are done.
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
