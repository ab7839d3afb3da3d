// SPDX-License-Identifier: Apache-2.0
//
// Checks the arguments of calls about memory.
#ifndef HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_
#define HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_

#include <cstddef>

#include "cuda.h"

namespace holdfast::cuda {

// All flags of cuMemHostAlloc and of cuMemHostRegister.
constexpr unsigned kHostAllocFlags = CU_MEMHOSTALLOC_PORTABLE |
                                     CU_MEMHOSTALLOC_DEVICEMAP |
                                     CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kHostRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

// Sets *pitch to the bytes from row to row that cuMemAllocPitch returns for
// `height` rows of `width` bytes with elements of `element` bytes.
// CUDA_ERROR_INVALID_VALUE: an extent is 0, or `element` is not 4, 8 or 16.
// CUDA_ERROR_OUT_OF_MEMORY: the rows exceed the address space.
CUresult ReadPitch(size_t width, size_t height, unsigned element,
                   size_t* pitch);

// Returns false if a page of the range is not mapped in this process. Returns
// true if a sandbox forbids mincore, which finds that out.
bool IsMapped(const void* pointer, size_t size);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MEMORY_ARGUMENTS_H_
