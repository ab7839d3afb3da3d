// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_DEVICE_MEMORY_H_
#define HOLDFAST_SERVER_SUPERVISOR_DEVICE_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast::supervisor {

// How much memory of each device is free, as far as the supervisor can tell
// without a driver: as an executor has found last, less what sessions have
// taken since; and never more than what they leave. Bytes. Thread-safe.
class DeviceMemory {
 public:
  // An executor with a context on the device has asked the driver. Replaces an
  // earlier measurement, whatever sessions have taken since.
  void NoteMeasured(uint32_t device, uint64_t free, uint64_t total);
  // Sessions' chunks. NoteReturned may be called for more than was taken; the
  // sum then is 0.
  void NoteTaken(uint32_t device, uint64_t bytes);
  void NoteReturned(uint32_t device, uint64_t bytes);

  // nullopt: no executor has looked yet. An estimate: processes outside
  // Holdfast take memory at any time.
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

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_DEVICE_MEMORY_H_
