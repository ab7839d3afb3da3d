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
  // Lists the devices, and subscribes to their Xid events. UNAVAILABLE: NVML
  // cannot list the devices.
  static absl::StatusOr<std::unique_ptr<NvmlTelemetry>> Create(
      std::unique_ptr<const nvml::NvmlApi> api);

  // Returns the present figures of all devices, which have only `uuid` and
  // `telemetry`. Figures that a device cannot report are not set.
  v1::ListDevicesResponse Read();

  // Blocks until NVML reports an Xid error, for at most `limit`. The next Read
  // returns the error.
  void AwaitEvent(absl::Duration limit);

 private:
  struct Device {
    nvml::Device handle = nullptr;
    std::string uuid;          // 16 bytes
    v1::DeviceTelemetry seen;  // the last Xid of the device
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
  nvml::EventSet events_ = nullptr;  // null: the machine reports no events
};

// Returns the 16 bytes of a UUID in NVML's form, "GPU-..."; an empty string if
// `text` has another form.
std::string BytesOfUuid(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_NVML_TELEMETRY_H_
