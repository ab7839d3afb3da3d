// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_DEVICE_PROBER_H_
#define HOLDFAST_SERVER_HEALTH_DEVICE_PROBER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "server/health/device_health_table.h"
#include "server/health/device_probe.h"

namespace holdfast {

// Probes devices when the table says so: one thread a device, so that one that
// hangs keeps no other from being probed.
class DeviceProber {
 public:
  struct Options {
    // Blocks until it is known how many devices there are, for a moment at
    // most; nullopt: not yet.
    std::function<std::optional<uint32_t>()> count_devices;
    // Runs one probe of the device.
    std::function<ProbeOutcome(uint32_t device)> probe;
  };

  // `table` must outlive it.
  DeviceProber(DeviceHealthTable& table, Options options);
  // Stops the table, and waits for the probes that run.
  ~DeviceProber();

 private:
  void Run();
  void ProbeAlways(uint32_t device);

  DeviceHealthTable& table_;
  const Options options_;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_DEVICE_PROBER_H_
