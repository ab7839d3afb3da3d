// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/handle_pool.h"

#include <algorithm>
#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace holdfast {

HandlePool::HandlePool(uint32_t max_handles, uint32_t first_generation)
    : max_handles_(std::min(max_handles, Handle::kMaxIndex + 1)),
      first_generation_(first_generation) {}

// Far apart for sessions that follow each other, and in the lower half, so that
// each index can be used 2^23 times.
uint32_t HandlePool::NextFirstGeneration() {
  static std::atomic<uint32_t> sessions = 0;
  constexpr uint32_t kStep = 0x9E3779;  // odd: 2^23 sessions differ
  return 1 + sessions++ * kStep % (Handle::kMaxGeneration / 2 + 1);
}

absl::StatusOr<uint64_t> HandlePool::Allocate(HandleKind kind) {
  absl::MutexLock lock(&mutex_);
  Kind& of_kind = kinds_[static_cast<size_t>(kind)];
  uint32_t index = 0;
  if (!of_kind.free.empty()) {
    index = of_kind.free.back();
    of_kind.free.pop_back();
  } else if (of_kind.generations.size() < max_handles_) {
    index = static_cast<uint32_t>(of_kind.generations.size());
    of_kind.generations.push_back(first_generation_ - 1);
  } else {
    return absl::ResourceExhaustedError(
        absl::StrCat("no ", HandleKindName(kind), " handle is free: all ",
                     max_handles_, " of the session are in use"));
  }
  return Handle{kind, ++of_kind.generations[index], index}.Pack();
}

void HandlePool::Free(uint64_t handle) {
  if (handle == 0) return;
  const auto [kind, generation, index] = Handle::Unpack(handle);
  absl::MutexLock lock(&mutex_);
  // An index whose generations are used up is not used again.
  if (generation == Handle::kMaxGeneration) return;
  kinds_[static_cast<size_t>(kind)].free.push_back(index);
}

void HandlePool::Skip(HandleKind kind, uint32_t unused_from) {
  absl::MutexLock lock(&mutex_);
  kinds_[static_cast<size_t>(kind)].generations.resize(
      std::min(unused_from, max_handles_));
}

bool HandlePool::Adopt(uint64_t handle) {
  const auto [kind, generation, index] = Handle::Unpack(handle);
  absl::MutexLock lock(&mutex_);
  auto& generations = kinds_[static_cast<size_t>(kind)].generations;
  if (generation == 0 || index >= generations.size()) return false;
  if (generations[index] != 0) return false;
  generations[index] = generation;
  return true;
}

}  // namespace holdfast
