// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_ERROR_TEXT_H_
#define HOLDFAST_CORE_CUDA_ERROR_TEXT_H_

#include "cuda.h"

namespace holdfast::cuda {

// Returns a name such as "CUDA_ERROR_INVALID_VALUE"; null if the number is not
// a CUresult.
const char* FindErrorName(CUresult result);

// Returns a short description; null if the number is not a CUresult.
const char* FindErrorText(CUresult result);

// Returns the name as FindErrorName does; "CUDA_ERROR_UNKNOWN" if the number is
// not a CUresult. Never null.
const char* ErrorName(CUresult result);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_ERROR_TEXT_H_
