// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress for any library that has a table of its functions.
#ifndef HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_
#define HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_

#include <span>

#include "cuda.h"

namespace holdfast::cuda {

// A function and its name. From CUDA `version` (1000 * major + 10 * minor) on,
// the name means this function.
struct EntryPoint {
  const char* name;
  int version;
  void* function;
  // The form for per-thread default streams; equal to `function` if the
  // function takes no stream.
  void* per_thread;
};

// Implements cuGetProcAddress_v2: finds the newest entry of the name for
// `version`. A missing name is not an error; `*function` is then null. `status`
// may be null. CUDA_ERROR_INVALID_VALUE: another pointer is null, or the
// version or the flags are unknown.
CUresult FindProcAddress(std::span<const EntryPoint> table, const char* name,
                         void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_
