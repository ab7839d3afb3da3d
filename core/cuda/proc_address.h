// SPDX-License-Identifier: Apache-2.0
//
// Implements cuGetProcAddress for any library that has a table of its
// functions.
#ifndef HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_
#define HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_

#include <span>

#include "cuda.h"

namespace holdfast::cuda {

// A function and its name. The name means this function from CUDA `version`
// (1000 * major + 10 * minor) on, until an entry with the same name and a
// greater version.
struct EntryPoint {
  const char* name;
  int version;
  void* function;
  // The variant for per-thread default streams; equal to `function` if the
  // function takes no stream.
  void* per_thread;
};

// Implements cuGetProcAddress_v2: sets *function to the function of the newest
// entry with this name up to `version`. A missing name is not an error:
// *function is then null. Sets *status to the result of the search, unless
// `status` is null. CUDA_ERROR_INVALID_VALUE: another pointer is null, the
// version is newer than the headers of this build, or the flags are unknown.
CUresult FindProcAddress(std::span<const EntryPoint> table, const char* name,
                         void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PROC_ADDRESS_H_
