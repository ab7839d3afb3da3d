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

// The properties of a device. They do not change while the driver is loaded.
struct DeviceDescription {
  // The driver's number of the device, from 0.
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

// The limits of a device for launches. Each is 0 if the driver reports no
// positive value.
struct DeviceLimits {
  // Blocks of a grid, by dimension.
  std::array<uint32_t, 3> max_grid{};
  // Threads of a block, by dimension.
  std::array<uint32_t, 3> max_block{};
  // Threads of a block, over all dimensions.
  uint32_t max_threads_per_block = 0;
  uint32_t shared_bytes_per_block = 0;        // without opting in
  uint32_t shared_bytes_per_block_optin = 0;  // the real limit
  uint32_t multiprocessors = 0;
  bool cooperative_launch = false;
  bool cluster_launch = false;
};

// A device of the driver: cuDeviceGet. A small value, which needs no context
// and owns nothing. Thread-safe. The DriverApi must outlive it.
class Device {
 public:
  // Returns the device with this number, from 0. NOT_FOUND: there is no such
  // device; the message has the number of devices. Costs two calls of the
  // driver.
  static absl::StatusOr<Device> Get(const DriverApi& api, int64_t ordinal);

  // The driver of the device.
  const DriverApi& api() const { return *api_; }
  int ordinal() const { return ordinal_; }
  // The driver's own number, which need not be the ordinal.
  CUdevice handle() const { return handle_; }

  // Returns the value of an attribute: cuDeviceGetAttribute. Calls the driver
  // each time, although values do not change while the driver is loaded.
  absl::StatusOr<int> Attribute(CUdevice_attribute attribute) const;

  // Returns true if kernels of this device can use memory of `peer`:
  // cuDeviceCanAccessPeer. UNIMPLEMENTED: the driver lacks the function.
  absl::StatusOr<bool> CanAccessPeer(const Device& peer) const;
  // Returns an attribute of the connection to `peer`: cuDeviceGetP2PAttribute.
  // REQUIRES: `peer` is another device. UNIMPLEMENTED: the driver lacks the
  // function.
  absl::StatusOr<int> PeerAttribute(CUdevice_P2PAttribute attribute,
                                    const Device& peer) const;

  // Returns the bytes of the device's memory, used and free.
  // Context::GetMemoryInfo returns the free bytes.
  absl::StatusOr<uint64_t> TotalMemory() const;
  // Returns the limits. Calls the driver for each of them, so contexts keep the
  // result.
  absl::StatusOr<DeviceLimits> Limits() const;
  // Returns all properties. Calls the driver for every attribute that exists,
  // so call it once. Leaves out attributes that the driver does not know.
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
