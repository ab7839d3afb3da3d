// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_DEVICE_CLOCKS_H_
#define HOLDFAST_SERVER_EXECUTOR_DEVICE_CLOCKS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/executor/device_times.h"

namespace holdfast::executor {

// Keeps DeviceTimes. A device's clock runs from when it is given work until
// that work is done. The end is found by marks in the streams: at most one set
// of marks is waited for at a time, and work that is given meanwhile gets the
// next set. So there is no mark for each launch, and none for each batch of a
// client that keeps the device busy. Thread-safe.
class DeviceClocks {
 public:
  explicit DeviceClocks(std::shared_ptr<DeviceTimes> times)
      : times_(std::move(times)) {}
  DeviceClocks(const DeviceClocks&) = delete;
  DeviceClocks& operator=(const DeviceClocks&) = delete;

  // The device is about to be given work that has no mark yet.
  void NoteGiven(uint32_t device);

  // Returns the devices whose work is to be marked now. For each of them,
  // NoteDone is to be called when what was marked is done.
  std::vector<uint32_t> TakeUnmarked();

  // Returns true if the device has been given more since, which is to be marked
  // now; else its clock stops.
  bool NoteDone(uint32_t device);

 private:
  struct Device {
    bool unmarked = false;  // has work without a mark
    bool watched = false;   // somebody waits for marks
  };

  const std::shared_ptr<DeviceTimes> times_;
  absl::Mutex mutex_;
  std::array<Device, DeviceTimes::kMaxDevices> devices_ ABSL_GUARDED_BY(mutex_);
  // Devices that are unmarked and not watched.
  std::vector<uint32_t> to_mark_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_DEVICE_CLOCKS_H_
