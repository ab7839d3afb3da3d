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

// Probes devices at the times that the DeviceHealthTable sets. Each device has
// its own thread, so that a hanging device does not delay the probes of other
// devices.
class DeviceProber {
 public:
  struct Options {
    // Returns the number of devices; nullopt if it is not known yet. Must block
    // for a moment before it returns nullopt, because it is called again at
    // once.
    std::function<std::optional<uint32_t>()> count_devices;
    // Runs one probe of the device, and blocks until its outcome.
    std::function<ProbeOutcome(uint32_t device)> probe;
  };

  // Starts the thread, which adds the devices to `table`. REQUIRES: `table`
  // outlives this object.
  DeviceProber(DeviceHealthTable& table, Options options);
  // Stops the table, and blocks until running probes have ended.
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
