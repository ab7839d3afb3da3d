// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_DEVICE_TIMES_H_
#define HOLDFAST_SERVER_COUNTERS_DEVICE_TIMES_H_

#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// GPU time of a session: for each device, the time during which the session had
// work on it that was given and not known to be done. Work of several streams
// at once counts once. So the time
//   - includes launches, copies and fills, and whatever they wait for in their
//     streams: events, semaphores, other sessions that keep the device;
//   - includes up to 0.2 ms, or a 128th, of the time after the end of work that
//     no client waits for, since the device is looked at so often;
//   - is no measure of how much of the device the work fills.
// Two sessions that use a device at once are both charged for that time.
//
// Lies in memory that the supervisor reads. One thread at a time writes, any
// may read. Times are those of Now().
class DeviceTimes {
 public:
  // Devices with larger ordinals are not accounted.
  static constexpr size_t kMaxDevices = 64;

  // CLOCK_MONOTONIC, in nanoseconds: the same in all processes.
  static uint64_t Now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(now.tv_nsec);
  }

  // REQUIRES: device < kMaxDevices, of all functions.
  void Begin(size_t device, uint64_t now) {
    devices_[device].since.store(now, std::memory_order_relaxed);
  }
  void End(size_t device, uint64_t now) {
    Device& times = devices_[device];
    const uint64_t since = times.since.load(std::memory_order_relaxed);
    times.since.store(0, std::memory_order_relaxed);
    // A reader that sees the new sum sees that the interval is over, and counts
    // it once.
    times.sum.store(times.sum.load(std::memory_order_relaxed) + (now - since),
                    std::memory_order_release);
  }

  bool busy(size_t device) const {
    return devices_[device].since.load(std::memory_order_relaxed) != 0;
  }
  // Intervals that are over.
  uint64_t sum(size_t device) const {
    return devices_[device].sum.load(std::memory_order_acquire);
  }
  // When the interval began that is not over; 0: there is none. To be read
  // after the sum.
  uint64_t since(size_t device) const {
    return devices_[device].since.load(std::memory_order_relaxed);
  }

 private:
  struct Device {
    std::atomic<uint64_t> sum{0};
    std::atomic<uint64_t> since{0};
  };
  std::array<Device, kMaxDevices> devices_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_DEVICE_TIMES_H_
