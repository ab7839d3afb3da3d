// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_
#define HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Estimates the free memory of each device, in bytes, without a driver. The
// estimate is the free memory that an executor measured last, minus what
// sessions have taken since. It is at most the device's total minus all memory
// of sessions. Thread-safe.
class DeviceMemory {
 public:
  // Notes the values, in bytes, that an executor got from the driver. They
  // replace earlier values.
  void NoteMeasured(uint32_t device, uint64_t free, uint64_t total);
  // Note that sessions made or freed chunks of this size. If more bytes are
  // returned than were taken, the sum is 0.
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
    uint64_t taken_then = 0;  // `taken` when it was measured
    uint64_t taken = 0;
  };

  mutable absl::Mutex mutex_;
  std::map<uint32_t, Entry> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_DEVICE_MEMORY_H_
