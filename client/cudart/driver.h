// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDART_DRIVER_H_
#define HOLDFAST_CLIENT_CUDART_DRIVER_H_

#include "cuda.h"
#include "cudaProfiler.h"
#include "driver_types.h"

namespace holdfast::libcudart {

// The meaning of stream 0: one stream for all threads, or one for each.
enum class DefaultStream { kLegacy, kPerThread };

// The functions of the libcuda.so.1 that the process finds, loaded and
// initialized once. Each has its name in cuda.h without `cu`, and the form that
// cuda.h declares. A function that the driver lacks returns
// CUDA_ERROR_NOT_SUPPORTED.
struct Driver {
#define HOLDFAST_DRIVER_FUNCTION(name) decltype(&::cu##name) name;
#include "client/cudart/driver_functions.inc"
#undef HOLDFAST_DRIVER_FUNCTION

  // cudaSuccess, or the error that every call returns.
  // cudaErrorInsufficientDriver: there is no driver, or it is older than CUDA
  // 13.
  cudaError_t status;

  // Returns the functions with the given meaning of stream 0. Thread-safe. The
  // first call loads the driver.
  static const Driver& Get(DefaultStream stream);

  // False from the beginning of exit() on, when the driver may be gone.
  static bool Alive();
};

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_DRIVER_H_
