// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/staging.h"

#include "core/base/status_macros.h"

namespace holdfast::executor {

std::shared_ptr<Staging> Staging::Create(
    std::shared_ptr<const cuda::Context> context, std::shared_ptr<Quota> quota,
    size_t block_bytes, size_t max_blocks) {
  return std::shared_ptr<Staging>(new Staging(
      std::move(context), std::move(quota), block_bytes, max_blocks));
}

absl::StatusOr<Staging::BlockPtr> Staging::TryAcquire() {
  std::unique_ptr<PinnedMemory> memory;
  {
    absl::MutexLock lock(&mutex_);
    if (in_use_ == max_blocks_) return nullptr;
    ++in_use_;
    if (!free_.empty()) {
      memory = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (memory == nullptr) {
    auto made = PinnedMemory::Allocate(context_, block_bytes_, *quota_);
    if (!made.ok()) {
      GiveBack(nullptr);
      return made.status();
    }
    memory = *std::move(made);
  }
  return std::make_shared<const Block>(shared_from_this(), std::move(memory));
}

bool Staging::HasFree(const std::function<void()>& when_free) {
  absl::MutexLock lock(&mutex_);
  if (in_use_ < max_blocks_) return true;
  when_free_ = when_free;
  return false;
}

void Staging::GiveBack(std::unique_ptr<PinnedMemory> memory) {
  std::function<void()> announce;
  {
    absl::MutexLock lock(&mutex_);
    --in_use_;
    if (closed_) {
      static_cast<void>(memory.release());
    } else if (memory != nullptr) {
      free_.push_back(std::move(memory));
    }
    announce = std::exchange(when_free_, nullptr);
  }
  if (announce != nullptr) announce();
}

void Staging::Close() {
  std::vector<std::unique_ptr<PinnedMemory>> freed;
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  freed.swap(free_);
}

}  // namespace holdfast::executor
