// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/allocation_properties.h"

namespace holdfast::cuda {

CUresult CheckHandleTypes(unsigned types) {
  constexpr unsigned kServed = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if ((types & ~kServed) == 0) return CUDA_SUCCESS;
  return (types & ~kServed) == CU_MEM_HANDLE_TYPE_FABRIC
             ? CUDA_ERROR_NOT_SUPPORTED
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult CheckAllocationProperties(const CUmemAllocationProp& properties,
                                   int device_count) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (properties.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties.location.id < 0 || properties.location.id >= device_count) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return CheckHandleTypes(properties.requestedHandleTypes);
}

}  // namespace holdfast::cuda
