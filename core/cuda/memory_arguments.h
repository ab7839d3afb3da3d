// SPDX-License-Identifier: Apache-2.0
//
// Checks of the arguments of calls about memory.
#ifndef HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_
#define HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_

#include <cstddef>

#include "cuda.h"

namespace holdfast::cuda {

// The flags of cuMemHostAlloc and of cuMemHostRegister.
constexpr unsigned kHostAllocFlags = CU_MEMHOSTALLOC_PORTABLE |
                                     CU_MEMHOSTALLOC_DEVICEMAP |
                                     CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kHostRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

// Sets *pitch to the bytes from row to row that cuMemAllocPitch gives.
// CUDA_ERROR_INVALID_VALUE: there is nothing to allocate, or CUDA has no such
// element. CUDA_ERROR_OUT_OF_MEMORY: the rows exceed the address space.
CUresult ReadPitch(size_t width, size_t height, unsigned element,
                   size_t* pitch);

// Returns false if a page of the range is not mapped in this process. Where a
// sandbox denies the question, all of it is taken to be mapped.
bool IsMapped(const void* pointer, size_t size);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_
