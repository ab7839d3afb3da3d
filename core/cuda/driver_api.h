// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver as a struct of typed function pointers. Holdfast calls the
// driver only through this struct. It can be filled from libcuda and from the
// software driver, and tests replace single pointers. There is no global
// DriverApi: code that calls the driver gets a `const DriverApi&`.
//
//   api.cuStreamSynchronize(stream)
//
// cuda.h maps old names to new variants by macros (cuMemAlloc to
// cuMemAlloc_v2). The macros also rename the members, so that callers write the
// names of CUDA's manual.
#ifndef HOLDFAST_CORE_CUDA_DRIVER_API_H_
#define HOLDFAST_CORE_CUDA_DRIVER_API_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// The table of the driver's functions. A copy has the same pointers. Immutable
// once resolved, and then thread-safe.
struct DriverApi {
  // The result of cuDriverGetVersion: 1000 * major + 10 * minor.
  int version = 0;

#define HOLDFAST_DRIVER_REQUIRED(name, since) decltype(&::name) name = nullptr;
#define HOLDFAST_DRIVER_OPTIONAL(name, since) decltype(&::name) name = nullptr;
#include "core/cuda/driver_symbols.inc"

  // Functions of the software driver in memcheck mode, in which it checks the
  // accesses of kernels byte by byte; null in other drivers and modes. A
  // program that cuts buffers out of an allocation calls add_buffer for each
  // buffer, and remove_buffer at the buffer's end; a kernel that accesses
  // memory of the allocation outside of a buffer then faults. remove_buffer has
  // the type CUhostFn, so that a stream can call it.
  void (*add_buffer)(CUdeviceptr address, size_t size) = nullptr;
  void (*remove_buffer)(void* address) = nullptr;

  // Returns the table, filled by the driver's cuGetProcAddress, which the
  // caller finds with dlsym. Optional functions that the driver lacks are null.
  // UNIMPLEMENTED: required functions are missing; the message names all of
  // them and the driver version that has them.
  static absl::StatusOr<DriverApi> Resolve(
      decltype(&::cuGetProcAddress) get_proc_address);
};

// Returns "12.4" for 12040.
std::string DriverVersionString(int version);

// Returns UNIMPLEMENTED: "cuKernelGetParamInfo needs driver 12.4, found 12.2".
absl::Status MissingCall(const DriverApi& api, absl::string_view name);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DRIVER_API_H_
