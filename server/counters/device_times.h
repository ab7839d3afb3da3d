// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_DEVICE_TIMES_H_
#define HOLDFAST_SERVER_COUNTERS_DEVICE_TIMES_H_

#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// The GPU time of a session: for each device, the time during which the session
// had submitted work that was not known to be done. Concurrent work of several
// streams counts once. So the time
//   - includes launches, copies and fills, and whatever they wait for in their
//     streams: events, semaphores, other sessions that keep the device;
//   - includes up to 0.2 ms, or a 128th, of the time after the end of work that
//     no client waits for, since the device is checked at these intervals;
//   - is no measure of how much of the device the work fills.
// If two sessions use a device at once, both are charged for that time.
//
// The object is in memory that the supervisor reads. One thread at a time may
// call Begin and End; any thread may read. All times come from Now().
class DeviceTimes {
 public:
  // Time of devices with this ordinal and above is not counted.
  static constexpr size_t kMaxDevices = 64;

  // Returns CLOCK_MONOTONIC in nanoseconds, which is the same in all processes.
  static uint64_t Now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(now.tv_nsec);
  }

  // Begin and end the interval in which the device is busy. REQUIRES, for all
  // methods: device < kMaxDevices. Begin and End alternate for a device.
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
  // The sum of the finished intervals, in nanoseconds.
  uint64_t sum(size_t device) const {
    return devices_[device].sum.load(std::memory_order_acquire);
  }
  // The begin of the running interval; 0 if there is none. A reader must call
  // sum() first, so that it does not count an interval twice.
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
