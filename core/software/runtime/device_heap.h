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
#include "core/software/base/mutex.h"
#include "core/software/runtime/window.h"

namespace holdfast::software {

// The heap of malloc in device code, in the window: 8 MiB, unless a limit says
// otherwise. Blocks outlive launches, until device code frees them. Its own
// notes lie elsewhere, where no kernel can write. Thread-safe.
class DeviceHeap {
 public:
  static DeviceHeap& Get();

  // In force if nothing has been asked for yet; else false.
  bool SetLimit(size_t bytes);
  // Aligned to 16 bytes. Null for 0 bytes and if there is no room.
  void* Allocate(size_t bytes);
  // Returns false if the block has been freed already and its bytes belong to
  // no other block since. Null, and what was never allocated, are ignored.
  bool Free(void* pointer);

 private:
  DeviceHeap() = default;
  bool Map() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = size_t{8} << 20;
  std::unique_ptr<WindowMemory> memory_ ABSL_GUARDED_BY(mutex_);
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);  // addresses
  // By address, the bytes of a block.
  std::map<uintptr_t, size_t> used_ ABSL_GUARDED_BY(mutex_);
  // Where blocks began that have been freed, outside of those in use.
  std::set<uintptr_t> freed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_HEAP_H_
