// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/staging_ring.h"

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

std::shared_ptr<StagingRing> StagingRing::Of(SessionState& session, Make make) {
  std::shared_ptr<StagingRing> ring;
  {
    absl::MutexLock lock(&session.staging_mutex);
    if (!session.staging.has_value()) {
      if (make == Make::kNot) return nullptr;
      session.staging = Create(session.shared_from_this()).value_or(nullptr);
    }
    ring = *session.staging;
  }
  if (ring == nullptr) return nullptr;
  if (make != Make::kNow && !ring->arena_->IsDecided()) return nullptr;
  return ring->arena_->Ready().ok() ? ring : nullptr;
}

void StagingRing::Close(SessionState& session) {
  std::shared_ptr<StagingRing> last;
  absl::MutexLock lock(&session.staging_mutex);
  if (session.staging.has_value()) last = *std::move(session.staging);
  session.staging = nullptr;
}

absl::StatusOr<std::shared_ptr<StagingRing>> StagingRing::Create(
    std::shared_ptr<SessionState> session) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto arena, Arena::Create(std::move(session), kSlots * kSlotBytes,
                                      {.in_background = true}));
  std::shared_ptr<StagingRing> ring(new StagingRing(arena));
  absl::MutexLock lock(&ring->mutex_);
  for (int i = 0; i < kSlots; ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(ArenaSpan span, arena->Allocate(kSlotBytes));
    ring->free_.push_back(std::move(span));
  }
  return ring;
}

StagingRing::Slot StagingRing::Take(bool may_be_kept) {
  Slot slot(this, std::move(free_.back()), may_be_kept);
  free_.pop_back();
  if (may_be_kept) ++keepable_;
  return slot;
}

StagingRing::Slot StagingRing::Acquire() {
  absl::MutexLock lock(&mutex_);
  const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !free_.empty();
  };
  mutex_.Await(absl::Condition(&available));
  return Take(/*may_be_kept=*/false);
}

std::optional<StagingRing::Slot> StagingRing::TryAcquire() {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) return std::nullopt;
  return Take(/*may_be_kept=*/false);
}

std::optional<StagingRing::Slot> StagingRing::TryAcquireToKeep() {
  GiveBackDone();
  absl::MutexLock lock(&mutex_);
  if (free_.empty() || keepable_ == kMaxKept) return std::nullopt;
  return Take(/*may_be_kept=*/true);
}

void StagingRing::Keep(Slot slot, PendingResult result) {
  absl::MutexLock lock(&mutex_);
  kept_.push_back({std::move(slot), std::move(result)});
}

// A slot that ends takes the lock.
void StagingRing::GiveBackDone() {
  std::vector<Kept> done;
  absl::MutexLock lock(&mutex_);
  while (!kept_.empty() && kept_.front().result.IsDone()) {
    done.push_back(std::move(kept_.front()));
    kept_.pop_front();
  }
}

void StagingRing::GiveBack(ArenaSpan span, bool may_be_kept) {
  absl::MutexLock lock(&mutex_);
  if (may_be_kept) --keepable_;
  free_.push_back(std::move(span));
}

}  // namespace holdfast
