// SPDX-License-Identifier: Apache-2.0
//
// The driver under test, and a compiler for the kernels in cu/. The environment
// selects:
//
//   HOLDFAST_DRIVER_LIBRARY  libcuda.so.1 or a path; default: the software
//                            driver of this build
//   HOLDFAST_KERNELS_ARCH    the target of NVRTC: 75, 80 or 90 (default)
//   HOLDFAST_KERNELS_PTX     a folder. NAME.ARCH.ptx is read from the folder if
//                            it exists, else compiled and written there, so
//                            that a machine without a toolkit runs the same PTX
#ifndef HOLDFAST_TESTS_KERNELS_MACHINE_H_
#define HOLDFAST_TESTS_KERNELS_MACHINE_H_

#include <string>

#include "core/cuda/driver_api.h"

namespace holdfast::kernels {

// Returns the driver. The first call opens the driver, and makes device 0's
// primary context current in the calling thread only. Ends the process with a
// message if there is no driver.
const cuda::DriverApi& Cuda();

// Returns HOLDFAST_KERNELS_ARCH.
int Architecture();

// Returns the PTX of cu/<name>.cu, compiled with --fmad=false, once in a
// process. Ends the process with the compiler's log if the source does not
// compile. Not thread-safe.
std::string CompileToPtx(const std::string& name);

// Ends the process with a message that names `what`, unless `result` is
// CUDA_SUCCESS.
void Require(CUresult result, const char* what);

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_MACHINE_H_
