// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/device.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"

namespace holdfast::cuda {
namespace {

struct NamedAttribute {
  absl::string_view name;
  CUdevice_attribute attribute;
};

constexpr NamedAttribute kAttributes[] = {
#define HOLDFAST_DEVICE_ATTRIBUTE(name) {#name, CU_DEVICE_ATTRIBUTE_##name},
#include "core/cuda/device_attributes.inc"
};

}  // namespace

absl::StatusOr<Device> Device::Get(const DriverApi& api, int64_t ordinal) {
  int count = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuDeviceGetCount(&count));
  if (ordinal < 0 || ordinal >= count) {
    return absl::NotFoundError(
        absl::StrCat("device ", ordinal, " does not exist; the driver has ",
                     count, count == 1 ? " device" : " devices"));
  }
  CUdevice handle = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuDeviceGet(&handle, static_cast<int>(ordinal)));
  return Device(api, static_cast<int>(ordinal), handle);
}

absl::StatusOr<int> Device::Attribute(CUdevice_attribute attribute) const {
  int value = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      *api_, cuDeviceGetAttribute(&value, attribute, handle_));
  return value;
}

absl::StatusOr<bool> Device::CanAccessPeer(const Device& peer) const {
  HOLDFAST_CUDA_REQUIRE(*api_, cuDeviceCanAccessPeer);
  int can = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      *api_, cuDeviceCanAccessPeer(&can, handle_, peer.handle_));
  return can != 0;
}

absl::StatusOr<int> Device::PeerAttribute(CUdevice_P2PAttribute attribute,
                                          const Device& peer) const {
  HOLDFAST_CUDA_REQUIRE(*api_, cuDeviceGetP2PAttribute);
  int value = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      *api_, cuDeviceGetP2PAttribute(&value, attribute, handle_, peer.handle_));
  return value;
}

absl::StatusOr<uint64_t> Device::TotalMemory() const {
  size_t bytes = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(*api_, cuDeviceTotalMem(&bytes, handle_));
  return bytes;
}

absl::StatusOr<DeviceLimits> Device::Limits() const {
  DeviceLimits limits;
  absl::Status status;
  const auto read = [&](CUdevice_attribute attribute) -> uint32_t {
    const absl::StatusOr<int> value = Attribute(attribute);
    status.Update(value.status());
    return value.ok() && *value > 0 ? static_cast<uint32_t>(*value) : 0;
  };
  limits.max_grid = {read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                     read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                     read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
  limits.max_block = {read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                      read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                      read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  limits.max_threads_per_block =
      read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  limits.shared_bytes_per_block =
      read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  limits.shared_bytes_per_block_optin =
      read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  limits.multiprocessors = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.cooperative_launch = read(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
  limits.cluster_launch = read(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
  HOLDFAST_RETURN_IF_ERROR(status);
  return limits;
}

absl::StatusOr<DeviceDescription> Device::Describe() const {
  DeviceDescription description;
  description.ordinal = ordinal_;
  char text[256] = {};
  HOLDFAST_CUDA_RETURN_IF_ERROR(*api_,
                                cuDeviceGetName(text, sizeof text, handle_));
  description.name = text;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      *api_, cuDeviceGetPCIBusId(text, sizeof text, handle_));
  description.pci_bus_id = text;
  CUuuid uuid{};
  HOLDFAST_CUDA_RETURN_IF_ERROR(*api_, cuDeviceGetUuid(&uuid, handle_));
  std::memcpy(description.uuid.data(), uuid.bytes, description.uuid.size());
  HOLDFAST_ASSIGN_OR_RETURN(description.total_memory, TotalMemory());
  for (const NamedAttribute& named : kAttributes) {
    const absl::StatusOr<int> value = Attribute(named.attribute);
    if (!value.ok()) continue;  // Younger than this driver.
    description.attributes.emplace_back(absl::AsciiStrToLower(named.name),
                                        *value);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      description.compute_capability_major,
      Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  HOLDFAST_ASSIGN_OR_RETURN(
      description.compute_capability_minor,
      Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return description;
}

}  // namespace holdfast::cuda
