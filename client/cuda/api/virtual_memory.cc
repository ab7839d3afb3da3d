// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory without addresses, and addresses without memory.
#include "client/cuda/virtual_memory.h"

#include "client/cuda/api/call.h"
#include "client/cuda/physical_memory.h"

using namespace holdfast::libcuda;

namespace {

bool IsSize(size_t size) { return size != 0 && size % kGranularity == 0; }

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(
    size_t* granularity, const CUmemAllocationProp* properties,
    CUmemAllocationGranularity_flags option) {
  return WithObjects([&](Process& process) {
    if (AnyNull(granularity, properties) ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result =
        PhysicalMemoryTable::CheckProperties(process, *properties);
    if (result == CUDA_SUCCESS) *granularity = kGranularity;
    return result;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return WithObjects([&](Process& process) {
    return AnyNull(handle, properties) || !IsSize(size) || flags != 0
               ? CUDA_ERROR_INVALID_VALUE
               : PhysicalMemoryTable::Get().Create(process, size, *properties,
                                                   handle);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return WithObjects([&](Process&) {
    return PhysicalMemoryTable::Get().Remove(handle) ? CUDA_SUCCESS
                                                     : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return WithObjects([&](Process&) {
    const auto memory = PhysicalMemoryTable::Get().Find(handle);
    if (properties == nullptr || memory == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *properties = memory->properties;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                     void* pointer) {
  return WithObjects([&](Process&) {
    return handle == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : VirtualMemory::Get().Retain(
                     reinterpret_cast<CUdeviceptr>(pointer), handle);
  });
}

CUresult cuMemExportToShareableHandle(void* shareable,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return WithObjects([&](Process& process) {
    return shareable == nullptr || flags != 0 ||
                   type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? CUDA_ERROR_INVALID_VALUE
               : PhysicalMemoryTable::Get().Export(
                     process, handle, static_cast<int*>(shareable));
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                        void* shareable,
                                        CUmemAllocationHandleType type) {
  return WithObjects([&](Process& process) {
    const int fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    return handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? CUDA_ERROR_INVALID_VALUE
               : PhysicalMemoryTable::Get().Import(process, fd, handle);
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size,
                             size_t alignment, CUdeviceptr wish,
                             unsigned long long flags) {
  return WithObjects([&](Process& process) {
    return address == nullptr || flags != 0
               ? CUDA_ERROR_INVALID_VALUE
               : VirtualMemory::Get().Reserve(process, size, alignment, wish,
                                              address);
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return WithObjects(
      [&](Process&) { return VirtualMemory::Get().Free(address, size); });
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return WithObjects([&](Process&) {
    return offset != 0 || flags != 0
               ? CUDA_ERROR_INVALID_VALUE
               : VirtualMemory::Get().Map(
                     address, size, handle,
                     PhysicalMemoryTable::Get().Find(handle));
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return WithObjects([&](Process& process) {
    return VirtualMemory::Get().Unmap(process, address, size);
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size,
                        const CUmemAccessDesc* descriptions, size_t count) {
  return WithObjects([&](Process& process) {
    return descriptions == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : VirtualMemory::Get().SetAccess(process, address, size,
                                                {descriptions, count});
  });
}

CUresult cuMemGetAccess(unsigned long long* flags,
                        const CUmemLocation* location, CUdeviceptr address) {
  return WithObjects([&](Process& process) {
    if (AnyNull(flags, location) ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto devices =
        static_cast<int>(process.connection().devices().size());
    return location->id < 0 || location->id >= devices
               ? CUDA_ERROR_INVALID_DEVICE
               : VirtualMemory::Get().GetAccess(address, location->id, flags);
  });
}

}  // extern "C"
