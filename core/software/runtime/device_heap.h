// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_HEAP_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "core/base/free_ranges.h"
#include "core/software/abi/window.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The heap of malloc in device code. The heap lies in the window
// (abi/window.h), and has 8 MiB unless SetLimit changes the size. Blocks
// outlive launches, until device code frees them or the last context ends. The
// data structures of the heap lie outside of the window, where no kernel can
// write. Thread-safe.
class DeviceHeap {
 public:
  // Returns the heap of the process.
  static DeviceHeap& Get();

  // Sets the size of the heap. Returns false, and changes nothing, if memory
  // has been allocated since the last Clear.
  bool SetLimit(size_t bytes);
  // Frees all blocks and the memory of the heap, and resets the size to 8 MiB.
  // REQUIRES: no kernel runs.
  void Clear();
  // Returns a new block, aligned to 16 bytes. Returns null for 0 bytes, or if
  // the heap has no room.
  void* Allocate(size_t bytes);
  // Frees a block. Returns false if the block has been freed already and no
  // later block has its bytes. Ignores null and addresses that were never
  // allocated, and returns true.
  bool Free(void* pointer);

 private:
  DeviceHeap() = default;
  bool Map() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  static constexpr size_t kFirstBytes = size_t{8} << 20;

  size_t bytes_ ABSL_GUARDED_BY(mutex_) = kFirstBytes;
  std::unique_ptr<WindowMemory> memory_ ABSL_GUARDED_BY(mutex_);
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);  // the free addresses
  // The bytes of each block in use, by address.
  std::map<uintptr_t, size_t> used_ ABSL_GUARDED_BY(mutex_);
  // The addresses of freed blocks, except those inside a block in use.
  std::set<uintptr_t> freed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_HEAP_H_
