// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the start, and what is told of devices. Nothing here asks the
// daemon but cuInit and the free memory.
#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/cuda/api/call.h"
#include "client/cuda/names.h"
#include "core/cuda/error_text.h"
#include "core/cuda/pci_bus_id.h"

using namespace holdfast::libcuda;
using holdfast::v1::Device;

namespace {

CUresult CopyText(const std::string& text, char* to, int size) {
  if (to == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t length = std::min(text.size(), static_cast<size_t>(size) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return CUDA_SUCCESS;
}

CUresult Describe(const char* found, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = found;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// True for an ability of the device that programs in front of a daemon lack.
bool IsUnserved(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
    case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
      return true;
    default:
      return false;
  }
}

// True for an ability that needs memory which program and device share.
bool NeedsSharedMemory(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
      return true;
    default:
      return false;
  }
}

bool IsServed(const Process& process, CUdevice_attribute attribute) {
  return !IsUnserved(attribute) && (process.connection().shares_memory() ||
                                    !NeedsSharedMemory(attribute));
}

bool IsPeer(Process& process, const Device& device, CUdevice peer) {
  const uint32_t ordinal =
      process.connection().devices()[static_cast<size_t>(peer)].ordinal();
  return std::count(device.peers().begin(), device.peers().end(), ordinal) > 0;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return Failed(CUDA_ERROR_INVALID_VALUE);
  const absl::Status started = Process::Get().Init();
  // The child of a fork.
  if (absl::IsFailedPrecondition(started))
    return Failed(CUDA_ERROR_NOT_INITIALIZED);
  if (!started.ok()) return Failed(Answer(started));
  return Process::Get().connection().devices().empty()
             ? Failed(CUDA_ERROR_NO_DEVICE)
             : CUDA_SUCCESS;
}

// Programs ask for the version before cuInit and after a fork, too.
CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  if (!Process::Get().forked()) {
    const absl::Status started = Process::Get().Init();
    if (!started.ok()) return Failed(Answer(started));
  }
  *version =
      std::min(Process::Get().connection().driver_version(), CUDA_VERSION);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  return Describe(holdfast::cuda::FindErrorName(error), name);
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return Describe(holdfast::cuda::FindErrorText(error), text);
}

CUresult cuDeviceGetCount(int* count) {
  return WithProcess([&](Process& process) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(process.connection().devices().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return WithDevice(ordinal, [&](Process&, const Device&) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  return WithDevice(device, [&](Process&, const Device& found) {
    return CopyText(found.name(), name, size);
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return WithDevice(device, [&](Process&, const Device& found) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(uuid->bytes, found.uuid().data(),
                std::min(sizeof uuid->bytes, found.uuid().size()));
    return CUDA_SUCCESS;
  });
}

// Only Windows has LUIDs. Runtimes ask for one and ignore this answer, so that
// the log leaves it out.
CUresult cuDeviceGetLuid(char*, unsigned*, CUdevice) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return WithDevice(device, [&](Process&, const Device& found) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = found.total_memory();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                              CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device& found) {
    const auto known = found.attributes().find(NameOf(attribute));
    if (value == nullptr || known == found.attributes().end()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *value = IsServed(process, attribute) ? static_cast<int>(known->second) : 0;
    if (attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES) {
      *value &= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return WithDevice(device, [&](Process&, const Device& found) {
    if (AnyNull(major, minor)) return CUDA_ERROR_INVALID_VALUE;
    *major = static_cast<int>(found.compute_capability_major());
    *minor = static_cast<int>(found.compute_capability_minor());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int size, CUdevice device) {
  return WithDevice(device, [&](Process&, const Device& found) {
    const std::string& text = found.pci_bus_id();
    if (size <= static_cast<int>(text.size())) return CUDA_ERROR_INVALID_VALUE;
    return CopyText(text, id, size);
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return WithProcess([&](Process& process) {
    if (AnyNull(device, id)) return CUDA_ERROR_INVALID_VALUE;
    const auto asked = holdfast::cuda::ParsePciBusId(id);
    if (!asked.has_value()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < process.connection().devices().size(); ++i) {
      const std::string& own = process.connection().devices()[i].pci_bus_id();
      if (holdfast::cuda::ParsePciBusId(own) == asked) {
        *device = static_cast<CUdevice>(i);
        return CUDA_SUCCESS;
      }
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return WithDevice(device, [&](Process& process, const Device& found) {
    return WithDevice(process, peer, [&](Process&, const Device&) {
      if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *can = device != peer && IsPeer(process, found, peer);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                 CUdevice source, CUdevice destination) {
  return WithDevice(source, [&](Process& process, const Device& found) {
    return WithDevice(process, destination, [&](Process&, const Device&) {
      if (source == destination) return CUDA_ERROR_INVALID_DEVICE;
      if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
      switch (attribute) {
        case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
          *value = IsPeer(process, found, destination);
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

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (AnyNull(free, total)) return CUDA_ERROR_INVALID_VALUE;
    HOLDFAST_ANSWER_OR_ASSIGN(
        const holdfast::v1::DescribeDeviceResponse response,
        process.connection().session().daemon().DescribeDevice(
            context.device().ordinal()));
    *total = response.device().total_memory();
    *free = response.device().has_free_memory()
                ? response.device().free_memory()
                : *total;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
