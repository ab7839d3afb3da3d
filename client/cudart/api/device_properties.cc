// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the properties of devices.
#include <cstring>
#include <type_traits>

#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// Sets `field` to an attribute. 0: the driver does not know it.
template <typename Field>
void Set(const Driver& driver, CUdevice device, CUdevice_attribute attribute,
         Field* field) {
  int value = 0;
  if (driver.DeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS) {
    value = 0;
  }
  // Sizes of 2 GiB and more come as negative numbers.
  *field = static_cast<Field>(static_cast<std::make_unsigned_t<int>>(value));
}

CUresult Describe(const Driver& driver, CUdevice device, cudaDeviceProp* to) {
  *to = {};
  const CUresult result =
      driver.DeviceGetName(to->name, sizeof(to->name), device);
  if (result != CUDA_SUCCESS) return result;
  driver.DeviceGetUuid(&to->uuid, device);
  driver.DeviceGetLuid(to->luid, &to->luidDeviceNodeMask, device);
  driver.DeviceTotalMem(&to->totalGlobalMem, device);
#define HOLDFAST_DEVICE_PROPERTY(field, name) \
  Set(driver, device, CU_DEVICE_ATTRIBUTE_##name, &to->field);
#include "client/cudart/device_properties.inc"
#undef HOLDFAST_DEVICE_PROPERTY
  return CUDA_SUCCESS;
}

// The number of wishes that a device fulfils. A field of 0 is no wish.
int Matches(const cudaDeviceProp& wish, const cudaDeviceProp& device) {
  const bool newer_or_same =
      wish.major < device.major ||
      (wish.major == device.major && wish.minor <= device.minor);
  return (wish.name[0] != '\0' && std::strcmp(wish.name, device.name) == 0) +
         (wish.major != 0 && newer_or_same) +
         (wish.totalGlobalMem != 0 &&
          wish.totalGlobalMem <= device.totalGlobalMem) +
         (wish.multiProcessorCount != 0 &&
          wish.multiProcessorCount <= device.multiProcessorCount) +
         (wish.sharedMemPerBlock != 0 &&
          wish.sharedMemPerBlock <= device.sharedMemPerBlock) +
         (wish.integrated != 0 && device.integrated != 0);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Driver& driver) {
    return Describe(driver, device, properties);
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wish) {
  if (AnyNull(device, wish)) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Driver& driver) -> CUresult {
    int count = 0;
    int best = -1;
    CUresult result = driver.DeviceGetCount(&count);
    for (int i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      cudaDeviceProp properties;
      result = Describe(driver, i, &properties);
      const int matches = Matches(*wish, properties);
      if (result == CUDA_SUCCESS && matches > best) {
        best = matches;
        *device = i;
      }
    }
    return result;
  });
}

}  // extern "C"
