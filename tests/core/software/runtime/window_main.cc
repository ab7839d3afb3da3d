// SPDX-License-Identifier: Apache-2.0
//
// main() of tests that hand local arrays and vectors to kernels. Kernels reach
// the window only (core/software/abi/window.h), so here the stack of the
// tests and everything that `new` makes lie in it. Tests of the window itself
// have the ordinary main().
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "core/software/abi/window.h"
#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

// The end of the window, which the runtime hands out last.
constexpr size_t kHeapBytes = size_t{8} << 30;
constexpr size_t kStackBytes = size_t{64} << 20;

uint8_t* MapAtTheEnd(size_t distance, size_t bytes) {
  const KernelWindow& window = GetKernelWindow();
  if (window.size == 0) return nullptr;
  auto* at =
      reinterpret_cast<uint8_t*>(window.base + window.size - distance - bytes);
  return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0 ? at : nullptr;
}

// Blocks of powers of two, each with its size in front of it; what is given
// back is used for the same size again.
class Heap {
 public:
  void* Allocate(size_t bytes, size_t alignment) {
    const size_t room = std::max<size_t>(alignment, sizeof(Header));
    const auto log = static_cast<uint32_t>(std::bit_width(bytes + room));
    std::lock_guard<std::mutex> lock(mutex_);
    uint8_t* block = Take(log);
    if (block == nullptr) throw std::bad_alloc();
    uint8_t* data = block + room;
    *HeaderOf(data) = {block, log};
    return data;
  }

  void Free(void* data) {
    if (data == nullptr) return;
    const Header header = *HeaderOf(data);
    std::lock_guard<std::mutex> lock(mutex_);
    auto* block = reinterpret_cast<FreeBlock*>(header.block);
    block->next = free_[header.log];
    free_[header.log] = block;
  }

 private:
  struct alignas(16) Header {
    uint8_t* block;
    uint32_t log;
  };
  struct FreeBlock {
    FreeBlock* next;
  };

  static Header* HeaderOf(void* data) {
    return reinterpret_cast<Header*>(data) - 1;
  }

  uint8_t* Take(uint32_t log) {
    if (FreeBlock* block = free_[log]) {
      free_[log] = block->next;
      return reinterpret_cast<uint8_t*>(block);
    }
    if (next_ == nullptr) {
      next_ = MapAtTheEnd(kStackBytes, kHeapBytes);
#ifdef __SANITIZE_ADDRESS__
      // Objects here point to memory that is not here.
      if (next_ != nullptr) __lsan_register_root_region(next_, kHeapBytes);
#endif
      if (next_ == nullptr) return nullptr;
      end_ = next_ + kHeapBytes;
    }
    const size_t size = size_t{1} << log;
    // As aligned as any caller asks for.
    const auto at =
        (reinterpret_cast<uintptr_t>(next_) + size - 1) / size * size;
    if (at + size > reinterpret_cast<uintptr_t>(end_)) return nullptr;
    next_ = reinterpret_cast<uint8_t*>(at + size);
    return reinterpret_cast<uint8_t*>(at);
  }

  std::mutex mutex_;
  FreeBlock* free_[64] = {};
  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
};

// Without a destructor, for what is freed at exit.
Heap& TheHeap() {
  alignas(Heap) static unsigned char memory[sizeof(Heap)];
  static Heap* const heap = ::new (memory) Heap;
  return *heap;
}

void* RunTests(void* result) {
  *static_cast<int*>(result) = RUN_ALL_TESTS();
  return nullptr;
}

}  // namespace
}  // namespace holdfast::software

void* operator new(size_t bytes) {
  return holdfast::software::TheHeap().Allocate(bytes, 16);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return holdfast::software::TheHeap().Allocate(bytes,
                                                static_cast<size_t>(alignment));
}
// Sorting in the library takes this form. With AddressSanitizer it would be the
// sanitizer's, whose memory the functions below cannot free.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return holdfast::software::TheHeap().Allocate(bytes, 16);
}
void operator delete(void* data) noexcept {
  holdfast::software::TheHeap().Free(data);
}
void operator delete(void* data, size_t) noexcept {
  holdfast::software::TheHeap().Free(data);
}
void operator delete(void* data, std::align_val_t) noexcept {
  holdfast::software::TheHeap().Free(data);
}
void operator delete(void* data, size_t, std::align_val_t) noexcept {
  holdfast::software::TheHeap().Free(data);
}

int main(int argc, char** argv) {
  using holdfast::software::kStackBytes;
  testing::InitGoogleTest(&argc, argv);
  uint8_t* stack = holdfast::software::MapAtTheEnd(0, kStackBytes);
  pthread_attr_t attributes;
  pthread_t thread;
  int result = 1;
  if (stack == nullptr || pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, stack, kStackBytes) != 0 ||
      pthread_create(&thread, &attributes, &holdfast::software::RunTests,
                     &result) != 0 ||
      pthread_join(thread, nullptr) != 0) {
    std::fputs("no thread with a stack in the window\n", stderr);
    return 1;
  }
  return result;
}
