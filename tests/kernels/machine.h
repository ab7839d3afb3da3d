// SPDX-License-Identifier: Apache-2.0
//
// The driver under test and the compiler, for kernels by the name of their
// source. The environment chooses:
//
//   HOLDFAST_DRIVER_LIBRARY  libcuda.so.1 or a path; default: the software
//                            driver of this build
//   HOLDFAST_KERNELS_ARCH    75, 80 or 90 (default): what NVRTC compiles for
//   HOLDFAST_KERNELS_PTX     a folder: NAME.ARCH.ptx is taken from there if it
//                            exists and written there if not, so that a
//                            machine without a toolkit runs the same PTX
#ifndef HOLDFAST_TESTS_KERNELS_MACHINE_H_
#define HOLDFAST_TESTS_KERNELS_MACHINE_H_

#include <string>

#include "core/cuda/driver_api.h"

namespace holdfast::kernels {

// Opened at first use, with device 0's primary context current in the calling
// thread; ends the process with a message if there is no driver.
const cuda::DriverApi& Cuda();

int Architecture();

// PTX of cu/<name>.cu, compiled with --fmad=false. Ends the process with the
// compiler's log if it does not compile.
std::string CompileToPtx(const std::string& name);

// Prints and ends the process unless the call succeeded.
void Require(CUresult result, const char* what);

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_MACHINE_H_
