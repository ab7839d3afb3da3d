// SPDX-License-Identifier: Apache-2.0
#include "core/software/abi/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/software/abi/window.h"

namespace holdfast::software {
namespace {

constexpr size_t kPageBytes = 4096;

// The arenas that the blocks of one cluster can have.
class ArenaGroup {
 public:
  bool Map() {
    constexpr size_t kBytes =
        (kMaxClusterBlocks - 1) * kSharedStrideBytes + kSharedMemoryBytes;
    memory_ = WindowMemory::MapClosed(kBytes, kSharedGuardBytes);
    return memory_ != nullptr;
  }

  uint8_t* arena(size_t number) const {
    return memory_->data() + number * kSharedStrideBytes;
  }

  // Pages behind `bytes` are not accessible.
  bool Open(size_t number, size_t bytes) {
    const size_t pages = std::min(
        (bytes + kPageBytes - 1) / kPageBytes * kPageBytes, kSharedMemoryBytes);
    size_t& open = open_[number];
    if (pages == open) return true;
    const size_t begin = std::min(pages, open);
    const size_t end = std::max(pages, open);
    const int protection = pages > open ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (mprotect(arena(number) + begin, end - begin, protection) != 0) {
      return false;
    }
    open = pages;
    return true;
  }

 private:
  std::unique_ptr<WindowMemory> memory_;
  // By number: bytes that kernels can access.
  std::array<size_t, kMaxClusterBlocks> open_ = {};
};

}  // namespace

uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number) {
  thread_local std::vector<ArenaGroup> groups;
  const size_t group = number / kMaxClusterBlocks;
  while (groups.size() <= group) {
    ArenaGroup added;
    if (!added.Map()) return nullptr;
    groups.push_back(std::move(added));
  }
  const size_t member = number % kMaxClusterBlocks;
  if (bytes.has_value() && !groups[group].Open(member, *bytes)) return nullptr;
  return groups[group].arena(member);
}

}  // namespace holdfast::software
