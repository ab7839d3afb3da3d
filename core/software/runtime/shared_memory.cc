// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/shared_memory.h"

#include <sys/mman.h>

#include <memory>
#include <vector>

namespace holdfast::software {
namespace {

constexpr size_t kGuardBytes = size_t{1} << 20;

class Arena {
 public:
  Arena() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    base_ = mmap(nullptr, kSharedMemoryBytes + kGuardBytes, PROT_NONE,
                 kFlags | MAP_32BIT, -1, 0);
    if (base_ == MAP_FAILED) {
      base_ = mmap(nullptr, kSharedMemoryBytes + kGuardBytes, PROT_NONE, kFlags,
                   -1, 0);
    }
    if (base_ == MAP_FAILED) return;
    mprotect(base_, kSharedMemoryBytes, PROT_READ | PROT_WRITE);
  }
  ~Arena() {
    if (base_ != MAP_FAILED) munmap(base_, kSharedMemoryBytes + kGuardBytes);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint8_t* data() const {
    return base_ == MAP_FAILED ? nullptr : static_cast<uint8_t*>(base_);
  }

 private:
  void* base_ = MAP_FAILED;
};

}  // namespace

uint8_t* ThreadSharedMemory(size_t number) {
  thread_local std::vector<std::unique_ptr<Arena>> arenas;
  while (arenas.size() <= number) {
    arenas.push_back(std::make_unique<Arena>());
    if (arenas.back()->data() == nullptr) {
      arenas.pop_back();
      return nullptr;
    }
  }
  return arenas[number]->data();
}

}  // namespace holdfast::software
