// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_DEVICE_CLOCKS_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_DEVICE_CLOCKS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/counters/device_times.h"

namespace holdfast::executor {

// Measures DeviceTimes: the clock of a device runs while the device has work.
// Marks (events) in the streams show the end of the work. Only one set of marks
// of a device is watched at a time. Work that is submitted meanwhile gets the
// next set, so that a busy device needs no mark for each launch or batch.
// Devices are named by the driver's ordinals. Thread-safe.
class DeviceClocks {
 public:
  explicit DeviceClocks(std::shared_ptr<DeviceTimes> times)
      : times_(std::move(times)) {}
  DeviceClocks(const DeviceClocks&) = delete;
  DeviceClocks& operator=(const DeviceClocks&) = delete;

  // Starts the device's clock if it does not run. Must be called before work
  // without a mark is submitted to the device.
  void NoteGiven(uint32_t device);

  // Returns the devices whose work must be marked now. The caller calls
  // NoteDone for each of them when the marked work is done.
  std::vector<uint32_t> TakeUnmarked();

  struct Next {
    // True: the device has got more work, which must be marked now. False: the
    // clock has stopped.
    bool mark = false;
    // True: TakePlace has returned false before, and can be tried again now.
    bool place = false;
  };
  // Notes that the marked work of the device is done.
  Next NoteDone(uint32_t device);

  // Takes a place for one command. Called while other sessions wait for this
  // session's turn to end. Limits the submitted work of the device to two
  // pieces: a piece that is watched, and a piece without marks. The number of
  // commands of a piece is adapted so that a piece takes 1 to 2.5 ms. Returns
  // false if there is no place until the next NoteDone or TakeUnmarked.
  // REQUIRES: device < DeviceTimes::kMaxDevices.
  bool TakePlace(uint32_t device);

 private:
  static constexpr uint32_t kLargestPiece = 256;  // commands

  struct Device {
    bool unmarked = false;  // has work without a mark
    bool watched = false;   // its marks are watched
    bool wanted = false;    // TakePlace has returned false
    uint32_t piece = 8;
    // The commands that took places, before the marks and after them.
    uint32_t marked_commands = 0;
    uint32_t commands = 0;
    uint64_t marked_at = 0;  // the time of the last TakeUnmarked
  };

  static void AdaptPiece(uint64_t took, Device* device);

  const std::shared_ptr<DeviceTimes> times_;
  absl::Mutex mutex_;
  std::array<Device, DeviceTimes::kMaxDevices> devices_ ABSL_GUARDED_BY(mutex_);
  // Devices that are unmarked and not watched.
  std::vector<uint32_t> to_mark_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_DEVICE_CLOCKS_H_
