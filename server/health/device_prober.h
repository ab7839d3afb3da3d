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

// Probes devices at the times of the table. Each device has its own thread, so
// that a hanging device does not delay the probes of others.
class DeviceProber {
 public:
  struct Options {
    // Returns the number of devices. nullopt: not known yet; blocks for a
    // moment first, because it is called again at once.
    std::function<std::optional<uint32_t>()> count_devices;
    // Runs one probe of the device.
    std::function<ProbeOutcome(uint32_t device)> probe;
  };

  // `table` must outlive this object.
  DeviceProber(DeviceHealthTable& table, Options options);
  // Stops the table, and waits for running probes.
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
