// SPDX-License-Identifier: Apache-2.0
//
// Converts CUDA's descriptions of copies (CUDA_MEMCPY3D and similar structures)
// to Copy.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_

#include <cstddef>

#include "core/software/driver/copy.h"
#include "cuda.h"

namespace holdfast::software {

// One end of a 2D or 3D copy, as the application describes it. Only one of
// `host` and `device` is used, depending on `type`.
struct EndDescription {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t pitch, rows;  // 0: x + the copy's width, y + the copy's height
  size_t x, y, z;
};

// Sets *end to the end that `description` describes. `copy` has the size of the
// copy; its ends are not used. CUDA_ERROR_INVALID_VALUE: rows or planes would
// overlap, an address overflows or is null, or the type of memory is unknown.
// CUDA_ERROR_NOT_SUPPORTED: the end is an array.
CUresult ResolveEnd(const EndDescription& description, const Copy& copy,
                    CopyEnd* end);

// Sets *copy to the copy that `parameters` describes. Fails as ResolveEnd does.
// CUDA_ERROR_INVALID_VALUE also: a level of detail is not 0.
CUresult DescribeCopy(const CUDA_MEMCPY3D& parameters, Copy* copy);

// Returns the structure that describes `copy`.
CUDA_MEMCPY3D ParametersOf(const Copy& copy);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_DESCRIPTION_H_
