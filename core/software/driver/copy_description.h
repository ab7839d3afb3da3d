// SPDX-License-Identifier: Apache-2.0
//
// Copies as applications describe them: CUDA_MEMCPY3D and its relatives.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_

#include <cstddef>

#include "core/software/driver/copy.h"
#include "cuda.h"

namespace holdfast::software {

// One end of a 2D or 3D copy as the application describes it.
struct EndDescription {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t pitch, rows;  // 0: x plus the copy's width, y plus its height
  size_t x, y, z;
};

// Computes address, pitch and rows of one end of `copy`, whose size is set.
// Returns CUDA_ERROR_INVALID_VALUE if the description contradicts itself,
// overflows or has a null address, CUDA_ERROR_NOT_SUPPORTED for an array.
CUresult ResolveEnd(const EndDescription& description, const Copy& copy,
                    CopyEnd* end);

// Fills *copy from CUDA's structure, with the errors of ResolveEnd.
CUresult DescribeCopy(const CUDA_MEMCPY3D& parameters, Copy* copy);

// The structure that describes `copy`.
CUDA_MEMCPY3D ParametersOf(const Copy& copy);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_
