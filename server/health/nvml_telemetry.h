// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_NVML_TELEMETRY_H_
#define HOLDFAST_SERVER_HEALTH_NVML_TELEMETRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/nvml/nvml_api.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast {

// Reads NVML's figures of the machine's devices. Not thread-safe.
class NvmlTelemetry {
 public:
  // UNAVAILABLE: NVML cannot list the devices.
  static absl::StatusOr<std::unique_ptr<NvmlTelemetry>> Create(
      std::unique_ptr<const nvml::NvmlApi> api);

  // Returns devices with only `uuid` and `telemetry`. Figures that a device
  // cannot report are not set.
  v1::ListDevicesResponse Read();

  // Blocks until an Xid error is reported or the time is up; the next Read has
  // it.
  void AwaitEvent(absl::Duration limit);

 private:
  struct Device {
    nvml::Device handle = nullptr;
    std::string uuid;          // 16 bytes
    v1::DeviceTelemetry seen;  // its last Xid
  };

  explicit NvmlTelemetry(std::unique_ptr<const nvml::NvmlApi> api)
      : api_(std::move(api)) {}
  absl::Status FindDevices();
  void RegisterEvents();
  void ReadRates(const Device& device, v1::DeviceTelemetry* telemetry) const;
  void ReadErrors(const Device& device, v1::DeviceTelemetry* telemetry) const;
  void ReadProcesses(const Device& device,
                     v1::DeviceTelemetry* telemetry) const;

  const std::unique_ptr<const nvml::NvmlApi> api_;
  std::vector<Device> devices_;
  nvml::EventSet events_ = nullptr;  // null: the machine reports none
};

// Returns the 16 bytes of a UUID in NVML's form, "GPU-..."; empty for another
// text.
std::string BytesOfUuid(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_NVML_TELEMETRY_H_
