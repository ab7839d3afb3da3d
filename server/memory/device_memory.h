// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_
#define HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Estimates the free memory of each device, in bytes, without a driver: the
// last value that an executor measured, minus later allocations of sessions,
// and at most the total minus all of their memory. Thread-safe.
class DeviceMemory {
 public:
  // Notes a measurement of the driver by an executor. Replaces an earlier one.
  void NoteMeasured(uint32_t device, uint64_t free, uint64_t total);
  // Note that sessions made or freed chunks. More bytes may be returned than
  // were taken; the sum is then 0.
  void NoteTaken(uint32_t device, uint64_t bytes);
  void NoteReturned(uint32_t device, uint64_t bytes);

  // Returns the estimate; nullopt if no executor has measured yet. Processes
  // outside Holdfast may take memory at any time.
  std::optional<uint64_t> Free(uint32_t device) const;

 private:
  // Sums of one device.
  struct Entry {
    bool measured = false;
    uint64_t total = 0;
    uint64_t free = 0;        // when it was measured
    uint64_t taken_then = 0;  // at that time
    uint64_t taken = 0;
  };

  mutable absl::Mutex mutex_;
  std::map<uint32_t, Entry> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_
