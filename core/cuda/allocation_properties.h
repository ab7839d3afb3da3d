// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_
#define HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_

#include "cuda.h"

namespace holdfast::cuda {

// Checks the properties of cuMemCreate. Returns CUDA_SUCCESS for memory of one
// of `device_count` devices, with a file descriptor as its shareable handle or
// without a handle. CUDA_ERROR_INVALID_VALUE: the type is not PINNED, the type
// of the location is unknown, or a handle type does not exist on Linux.
// CUDA_ERROR_INVALID_DEVICE: there is no such device. CUDA_ERROR_NOT_SUPPORTED:
// the location is host memory, or the handle is a fabric handle.
CUresult CheckAllocationProperties(const CUmemAllocationProp& properties,
                                   int device_count);

// Checks the shareable handle types of memory or of a pool, a set of
// CU_MEM_HANDLE_TYPE_... flags, with the errors above.
CUresult CheckHandleTypes(unsigned types);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_ALLOCATION_PROPERTIES_H_
