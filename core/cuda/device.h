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
  // Counts from 0, as the driver does.
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

// The limits that launches are checked against; read once for each context. 0
// where the driver gives no positive value.
struct DeviceLimits {
  // Blocks of a grid, by dimension.
  std::array<uint32_t, 3> max_grid{};
  // Threads of a block, by dimension.
  std::array<uint32_t, 3> max_block{};
  // Over all dimensions together.
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
  // NOT_FOUND: no such ordinal; the message says how many there are. Costs two
  // calls of the driver; there is nothing to release.
  static absl::StatusOr<Device> Get(const DriverApi& api, int64_t ordinal);

  // The driver that it is a device of.
  const DriverApi& api() const { return *api_; }
  int ordinal() const { return ordinal_; }
  // The driver's own number, which need not be the ordinal.
  CUdevice handle() const { return handle_; }

  // cuDeviceGetAttribute. Asks the driver at each call; values do not change
  // while the driver is loaded.
  absl::StatusOr<int> Attribute(CUdevice_attribute attribute) const;

  // cuDeviceCanAccessPeer: returns true if kernels here can use memory of
  // `peer`. UNIMPLEMENTED: the driver lacks the function.
  absl::StatusOr<bool> CanAccessPeer(const Device& peer) const;
  // cuDeviceGetP2PAttribute. REQUIRES: another device. UNIMPLEMENTED: the
  // driver lacks the function.
  absl::StatusOr<int> PeerAttribute(CUdevice_P2PAttribute attribute,
                                    const Device& peer) const;

  // Bytes of memory, used or free; see Context::GetMemoryInfo for the free
  // ones.
  absl::StatusOr<uint64_t> TotalMemory() const;
  // Reads nine attributes; contexts keep the result.
  absl::StatusOr<DeviceLimits> Limits() const;
  // Reads every attribute that there is, so call it once. Attributes that the
  // driver does not know are left out.
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
