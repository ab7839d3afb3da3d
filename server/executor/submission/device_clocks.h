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

  struct Next {
    // The device has been given more since, which is to be marked now. If not,
    // its clock has stopped.
    bool mark = false;
    // TakePlace had no place, and has one now.
    bool place = false;
  };
  Next NoteDone(uint32_t device);

  // For a session that others wait for: takes a place for one command's work,
  // where there is a piece of work that is waited for and as much behind it.
  // A piece is as many commands as take about 2 ms. Returns false if there is
  // none until the next NoteDone, or TakeUnmarked.
  bool TakePlace(uint32_t device);

 private:
  static constexpr uint32_t kLargestPiece = 256;  // commands

  struct Device {
    bool unmarked = false;  // has work without a mark
    bool watched = false;   // somebody waits for marks
    bool wanted = false;    // a place
    uint32_t piece = 8;
    // Commands that took places, before the marks and behind them.
    uint32_t marked_commands = 0;
    uint32_t commands = 0;
    uint64_t marked_at = 0;  // or when the piece before was done
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
