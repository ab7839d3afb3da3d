// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_
#define HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_

#include "cuda.h"

namespace holdfast::cuda {

// Checks the properties of cuMemCreate for memory of one of `device_count`
// devices, with or without a file descriptor as its shareable handle.
// CUDA_ERROR_INVALID_VALUE: the type is not PINNED; the location is no place of
// memory; a handle type does not exist on Linux. CUDA_ERROR_INVALID_DEVICE:
// there is no such device. CUDA_ERROR_NOT_SUPPORTED: host memory, or a fabric
// handle.
CUresult CheckAllocationProperties(const CUmemAllocationProp& properties,
                                   int device_count);

// Checks the handle types of memory or of a pool, as above.
CUresult CheckHandleTypes(unsigned types);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_
