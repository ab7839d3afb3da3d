// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/pinned_memory.h"

#include <algorithm>

#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

constexpr uint64_t kSharedArenaBytes = 16 << 20;

}  // namespace

absl::StatusOr<ArenaSpan> PinnedMemory::Allocate(uint64_t size) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(arenas_, [](const auto& arena) { return arena.expired(); });
  for (const std::weak_ptr<Arena>& weak : arenas_) {
    const std::shared_ptr<Arena> arena = weak.lock();
    if (arena == nullptr) continue;
    absl::StatusOr<ArenaSpan> span = arena->Allocate(size);
    if (span.ok()) return span;
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::shared_ptr<Arena> arena,
      session_.CreateArena(std::max(size, kSharedArenaBytes)));
  arenas_.push_back(arena);
  return arena->Allocate(size);
}

}  // namespace holdfast::libcuda
