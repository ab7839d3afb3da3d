// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_DEVICE_TURNS_H_
#define HOLDFAST_SERVER_COUNTERS_DEVICE_TURNS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// The turns of an executor at devices that several tenants use. The supervisor
// sets them (supervisor/share_pacer.h), and the executor's submission thread
// obeys them. A compromised executor could ignore its turns. The object is in
// memory that both processes share. Thread-safe.
class DeviceTurns {
 public:
  // Devices with this ordinal and above are not paced. The number is that of
  // DeviceTimes.
  static constexpr size_t kMaxDevices = 64;

  enum class Turn : uint32_t {
    kFree = 0,  // no other tenant uses the device: work is not limited
    kOwn = 1,   // others wait: work is submitted in small pieces
    kWait = 2,  // another tenant has its turn: no work may be submitted
  };

  // Returns true if the turn at any device is not kFree.
  bool paced() const { return paced_.load(std::memory_order_relaxed) != 0; }

  // REQUIRES, for all methods: device < kMaxDevices.
  Turn turn(size_t device) const {
    return static_cast<Turn>(
        devices_[device].turn.load(std::memory_order_acquire));
  }
  // Returns true if a command of the executor waits for the turn at the device.
  // The executor calls SetWaiting.
  bool waiting(size_t device) const {
    return devices_[device].waiting.load(std::memory_order_relaxed) != 0;
  }
  void SetWaiting(size_t device, bool waiting) {
    devices_[device].waiting.store(waiting ? 1 : 0, std::memory_order_relaxed);
  }

  // Returns the number of changes so far, for AwaitChange.
  uint32_t changes() const { return changes_.load(std::memory_order_acquire); }
  // Blocks until changes() is not `seen`, for 50 ms at most. May return early.
  void AwaitChange(uint32_t seen) const;
  // Counts a change, and so ends the calls of AwaitChange.
  void Wake();

  // Sets a turn, and wakes the executor. The supervisor calls it. `paced` is
  // the result of paced() from now on: true if the turn at any device is not
  // kFree.
  void SetTurn(size_t device, Turn turn, bool paced);

 private:
  struct Device {
    std::atomic<uint32_t> turn{0};
    std::atomic<uint32_t> waiting{0};
  };

  std::atomic<uint32_t> paced_{0};
  std::atomic<uint32_t> changes_{0};  // a futex
  std::array<Device, kMaxDevices> devices_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_DEVICE_TURNS_H_
