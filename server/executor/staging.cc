// SPDX-License-Identifier: Apache-2.0
#include "server/executor/staging.h"

#include <utility>

namespace holdfast::executor {

absl::StatusOr<std::shared_ptr<Staging::Block>> Staging::Acquire() {
  return Get(/*wait=*/true);
}

absl::StatusOr<std::shared_ptr<Staging::Block>> Staging::TryAcquire() {
  return Get(/*wait=*/false);
}

absl::StatusOr<std::shared_ptr<Staging::Block>> Staging::Get(bool wait) {
  std::unique_ptr<cuda::HostMemory> memory;
  {
    absl::MutexLock lock(&mutex_);
    const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !free_.empty() || made_ < max_blocks_;
    };
    if (!wait && !available()) return nullptr;
    mutex_.Await(absl::Condition(&available));
    if (free_.empty()) {
      ++made_;
    } else {
      memory = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (memory == nullptr) {
    auto made = cuda::HostMemory::Allocate(context_, block_bytes_);
    if (!made.ok()) {
      absl::MutexLock lock(&mutex_);
      --made_;
      return made.status();
    }
    memory = *std::move(made);
  }
  return std::make_shared<Block>(this, std::move(memory));
}

bool Staging::HasFree(const std::function<void()>& when_free) {
  absl::MutexLock lock(&mutex_);
  if (!free_.empty() || made_ < max_blocks_) return true;
  when_free_ = when_free;
  return false;
}

void Staging::GiveBack(std::unique_ptr<cuda::HostMemory> memory) {
  std::function<void()> announce;
  {
    absl::MutexLock lock(&mutex_);
    free_.push_back(std::move(memory));
    announce = std::exchange(when_free_, nullptr);
  }
  if (announce != nullptr) announce();
}

}  // namespace holdfast::executor
