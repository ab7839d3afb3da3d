// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/background_copy.h"

#include <utility>

#include "core/base/start_thread.h"

namespace holdfast {

// Without a thread, Append copies.
BackgroundCopy::BackgroundCopy(char* destination) : next_(destination) {
  auto thread = StartThread("a copy", [this] { Run(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

BackgroundCopy::~BackgroundCopy() {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void BackgroundCopy::Append(ChunkData chunk) {
  if (!thread_.joinable()) return Copy(chunk);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_.size() < kMaxWaiting;
  };
  absl::MutexLock lock(&mutex_, absl::Condition(&room));
  waiting_.push_back(std::move(chunk));
}

void BackgroundCopy::Run() {
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended_ || !waiting_.empty();
  };
  for (;;) {
    ChunkData chunk;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&due));
      if (waiting_.empty()) return;
      chunk = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Copy(chunk);
  }
}

void BackgroundCopy::Copy(const ChunkData& chunk) {
  chunk.CopyTo(next_);
  next_ += chunk.size();
}

}  // namespace holdfast
