// SPDX-License-Identifier: Apache-2.0
//
// Entry points: initialization, versions, errors, devices.
#include <algorithm>
#include <cstring>
#include <string>

#include "core/cuda/error_text.h"
#include "core/cuda/pci_bus_id.h"
#include "core/software/driver/call.h"

namespace holdfast::software {
namespace {

constexpr int kDriverVersion = 13000;

// As strncpy, but always terminated; what does not fit is cut off.
void CopyText(const std::string& text, char* to, int size) {
  const size_t length = std::min<size_t>(text.size(), size - 1);
  memcpy(to, text.data(), length);
  to[length] = '\0';
}

CUresult Describe(const char* found, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = found;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace
}  // namespace holdfast::software

using namespace holdfast::software;

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (Driver::Get().device_count() == 0) return CUDA_ERROR_NO_DEVICE;
  return Driver::Get().Initialize() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  return Describe(holdfast::cuda::FindErrorName(error), name);
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return Describe(holdfast::cuda::FindErrorText(error), text);
}

CUresult cuDeviceGetCount(int* count) {
  return WithDriver([&](Driver& driver) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = driver.device_count();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return WithDevice(ordinal, [&](Device& found) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = found.ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (name == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
    CopyText(found.name(), name, size);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *uuid = found.uuid();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = found.memory().total();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                              CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (value == nullptr || !found.Attribute(attribute, value)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (AnyNull(major, minor)) return CUDA_ERROR_INVALID_VALUE;
    found.Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major);
    found.Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int size, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    const std::string text(found.pci_bus_id());
    if (id == nullptr || size <= static_cast<int>(text.size())) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CopyText(text, id, size);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(device, id)) return CUDA_ERROR_INVALID_VALUE;
    const auto asked = holdfast::cuda::ParsePciBusId(id);
    if (!asked.has_value()) return CUDA_ERROR_INVALID_VALUE;
    const Device* found = driver.FindDevice(*asked);
    if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *device = found->ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return WithDevice(device, [&](Device&) {
    return WithDevice(peer, [&](Device&) {
      if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *can = device != peer;
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                 CUdevice source, CUdevice destination) {
  return WithDevice(source, [&](Device&) {
    return WithDevice(destination, [&](Device&) {
      if (source == destination) return CUDA_ERROR_INVALID_DEVICE;
      if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
      switch (attribute) {
        case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
          *value = 1;
          return CUDA_SUCCESS;
        case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
          *value = 0;
          return CUDA_SUCCESS;
        default:
          return CUDA_ERROR_INVALID_VALUE;
      }
    });
  });
}

}  // extern "C"
