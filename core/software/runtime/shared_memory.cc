// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/software/runtime/window.h"

namespace holdfast::software {
namespace {

constexpr size_t kPageBytes = 4096;

// Pages behind the bytes of the block are not accessible.
class Arena {
 public:
  bool Map() {
    memory_ = WindowMemory::Map(kSharedMemoryBytes, kSharedGuardBytes);
    if (memory_ == nullptr) return false;
    open_ = memory_->bytes();
    return true;
  }

  bool Open(size_t bytes) {
    const size_t pages = std::min(
        (bytes + kPageBytes - 1) / kPageBytes * kPageBytes, memory_->bytes());
    if (pages == open_) return true;
    const size_t begin = std::min(pages, open_);
    const size_t end = std::max(pages, open_);
    const int protection = pages > open_ ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (mprotect(memory_->data() + begin, end - begin, protection) != 0) {
      return false;
    }
    open_ = pages;
    return true;
  }

  uint8_t* data() const { return memory_->data(); }

 private:
  std::unique_ptr<WindowMemory> memory_;
  size_t open_ = 0;  // bytes that kernels can access
};

}  // namespace

uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number) {
  thread_local std::vector<Arena> arenas;
  while (arenas.size() <= number) {
    Arena arena;
    if (!arena.Map()) return nullptr;
    arenas.push_back(std::move(arena));
  }
  Arena& arena = arenas[number];
  if (bytes.has_value() && !arena.Open(*bytes)) return nullptr;
  return arena.data();
}

}  // namespace holdfast::software
