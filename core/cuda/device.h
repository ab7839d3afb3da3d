// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_DEVICE_H_
#define HOLDFAST_CORE_CUDA_DEVICE_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cuda/driver_api.h"
#include "cuda.h"

namespace holdfast::cuda {

// The properties of a device that do not change while the driver is loaded.
struct DeviceDescription {
  int ordinal = 0;
  std::string name;
  std::array<uint8_t, 16> uuid{};
  std::string pci_bus_id;  // "0000:01:00.0"
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  uint64_t total_memory = 0;  // bytes

  // Every CUdevice_attribute that the driver knows, by its name in lower case
  // without the prefix: "max_threads_per_block".
  std::vector<std::pair<std::string, int>> attributes;
};

// The limits that launches are checked against; read once for each context.
struct DeviceLimits {
  std::array<uint32_t, 3> max_grid{};
  std::array<uint32_t, 3> max_block{};
  uint32_t max_threads_per_block = 0;
  uint32_t shared_bytes_per_block = 0;        // without opting in
  uint32_t shared_bytes_per_block_optin = 0;  // the real limit
  uint32_t multiprocessors = 0;
  bool cooperative_launch = false;
  bool cluster_launch = false;
};

// A device of the driver: cuDeviceGet. A small value; needs no context and
// owns nothing. Thread-safe. The DriverApi must outlive it.
class Device {
 public:
  // NOT_FOUND: no such ordinal; the message says how many there are.
  static absl::StatusOr<Device> Get(const DriverApi& api, int64_t ordinal);

  const DriverApi& api() const { return *api_; }
  int ordinal() const { return ordinal_; }
  CUdevice handle() const { return handle_; }

  // cuDeviceGetAttribute.
  absl::StatusOr<int> Attribute(CUdevice_attribute attribute) const;

  // cuDeviceCanAccessPeer: can kernels here use memory of `peer`?
  absl::StatusOr<bool> CanAccessPeer(const Device& peer) const;
  // cuDeviceGetP2PAttribute. REQUIRES: another device.
  absl::StatusOr<int> PeerAttribute(CUdevice_P2PAttribute attribute,
                                    const Device& peer) const;

  absl::StatusOr<uint64_t> TotalMemory() const;
  absl::StatusOr<DeviceLimits> Limits() const;
  absl::StatusOr<DeviceDescription> Describe() const;

 private:
  Device(const DriverApi& api, int ordinal, CUdevice handle)
      : api_(&api), ordinal_(ordinal), handle_(handle) {}

  const DriverApi* api_;
  int ordinal_;
  CUdevice handle_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DEVICE_H_
