// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/local_memory.h"

#include <sys/mman.h>

namespace holdfast::software {
namespace {

// One mapping, with a page before and behind it that faults.
class Depot {
 public:
  ~Depot() { Release(); }

  uint8_t* Of(size_t bytes) {
    if (bytes <= bytes_) return data_;
    Release();
    const size_t size = (bytes + kPage - 1) / kPage * kPage;
    void* memory = mmap(nullptr, size + 2 * kPage, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* base = static_cast<uint8_t*>(memory);
    if (mprotect(base + kPage, size, PROT_READ | PROT_WRITE) != 0) {
      munmap(memory, size + 2 * kPage);
      return nullptr;
    }
    data_ = base + kPage;
    bytes_ = size;
    return data_;
  }

 private:
  static constexpr size_t kPage = 4096;

  void Release() {
    if (data_ != nullptr) munmap(data_ - kPage, bytes_ + 2 * kPage);
    data_ = nullptr;
    bytes_ = 0;
  }

  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

uint8_t* ThreadLocalMemory(size_t bytes) {
  thread_local Depot depot;
  return depot.Of(bytes);
}

}  // namespace holdfast::software
