// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/staging.h"

#include "core/base/status_macros.h"
#include "core/base/wake_on_stop.h"

namespace holdfast::executor {

std::shared_ptr<Staging> Staging::Create(
    std::shared_ptr<const cuda::Context> context, std::shared_ptr<Quota> quota,
    size_t block_bytes, size_t max_blocks, size_t max_places,
    std::shared_ptr<char> memory) {
  return std::shared_ptr<Staging>(
      new Staging(std::move(context), std::move(quota), block_bytes, max_blocks,
                  max_places, std::move(memory)));
}

Staging::Staging(std::shared_ptr<const cuda::Context> context,
                 std::shared_ptr<Quota> quota, size_t block_bytes,
                 size_t max_blocks, size_t max_places,
                 std::shared_ptr<char> memory)
    : context_(std::move(context)),
      quota_(std::move(quota)),
      block_bytes_(block_bytes),
      max_places_(max_places),
      max_shared_(max_blocks - max_places),
      memory_(std::move(memory)) {
  if (memory_ == nullptr) return;
  for (size_t i = max_blocks; i > 0; --i) {
    unmade_.push_back(memory_.get() + (i - 1) * block_bytes_);
  }
}

std::shared_ptr<Staging::Place> Staging::AwaitPlace(
    const std::stop_token& cancelled) {
  const WakeOnStop wake(cancelled, mutex_);
  {
    absl::MutexLock lock(&mutex_);
    const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return places_ < max_places_ || cancelled.stop_requested();
    };
    mutex_.Await(absl::Condition(&due));
    if (places_ == max_places_) return nullptr;
    ++places_;
  }
  return std::make_shared<Place>(shared_from_this());
}

absl::StatusOr<Staging::BlockPtr> Staging::Place::TryAcquire() {
  {
    absl::MutexLock lock(&staging_->mutex_);
    if (!MayHaveAnother()) return nullptr;
    if (held_++ > 0) ++staging_->shared_;
  }
  return staging_->MakeBlock(shared_from_this());
}

absl::StatusOr<Staging::BlockPtr> Staging::Place::Acquire(
    const std::stop_token& cancelled) {
  const WakeOnStop wake(cancelled, staging_->mutex_);
  for (;;) {
    HOLDFAST_ASSIGN_OR_RETURN(BlockPtr block, TryAcquire());
    if (block != nullptr || cancelled.stop_requested()) return block;
    absl::MutexLock lock(&staging_->mutex_);
    const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(staging_->mutex_) {
      return MayHaveAnother() || cancelled.stop_requested();
    };
    staging_->mutex_.Await(absl::Condition(&due));
  }
}

absl::StatusOr<Staging::BlockPtr> Staging::TryAcquire() {
  {
    absl::MutexLock lock(&mutex_);
    if (!HasShared()) return nullptr;
    ++shared_;
  }
  return MakeBlock(nullptr);
}

absl::StatusOr<Staging::BlockPtr> Staging::MakeBlock(
    std::shared_ptr<Place> place) {
  std::unique_ptr<PinnedMemory> memory;
  {
    absl::MutexLock lock(&mutex_);
    if (!free_.empty()) {
      memory = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (memory == nullptr) {
    auto made = MakeMemory();
    if (!made.ok()) {
      GiveBack(nullptr, place.get());
      return made.status();
    }
    memory = *std::move(made);
  }
  return std::make_shared<const Block>(shared_from_this(), std::move(place),
                                       std::move(memory));
}

absl::StatusOr<std::unique_ptr<PinnedMemory>> Staging::MakeMemory() {
  if (memory_ == nullptr) {
    return PinnedMemory::Allocate(context_, block_bytes_, *quota_);
  }
  char* place = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    place = unmade_.back();
    unmade_.pop_back();
  }
  auto made = PinnedMemory::Register(context_, place, block_bytes_, *quota_);
  if (!made.ok()) {
    absl::MutexLock lock(&mutex_);
    unmade_.push_back(place);
  }
  return made;
}

bool Staging::HasFree(const std::function<void()>& when_free) {
  absl::MutexLock lock(&mutex_);
  if (HasShared()) return true;
  when_free_ = when_free;
  return false;
}

void Staging::GiveBack(std::unique_ptr<PinnedMemory> memory, Place* place) {
  std::function<void()> announce;
  {
    absl::MutexLock lock(&mutex_);
    if (place == nullptr || --place->held_ > 0) --shared_;
    if (closed_) {
      static_cast<void>(memory.release());
    } else if (memory != nullptr) {
      free_.push_back(std::move(memory));
    }
    announce = std::exchange(when_free_, nullptr);
  }
  if (announce != nullptr) announce();
}

void Staging::Leave() {
  absl::MutexLock lock(&mutex_);
  --places_;
}

void Staging::Close() {
  std::vector<std::unique_ptr<PinnedMemory>> freed;
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  freed.swap(free_);
}

}  // namespace holdfast::executor
