// SPDX-License-Identifier: Apache-2.0
//
// Entry points: launches of kernels, and functions of the program in streams.
#include "client/cudart/call.h"
#include "client/cudart/launch_config.h"

using namespace holdfast::libcudart;

namespace {

cudaError_t Launch(const void* stub, const CUlaunchConfig& launch,
                   void** args) {
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUfunction function = nullptr;
    const cudaError_t error = FindLaunchable(driver, stub, &function);
    if (error != cudaSuccess) return error;
    const CUresult result =
        launch.numAttrs == 0
            ? driver.LaunchKernel(
                  function, launch.gridDimX, launch.gridDimY, launch.gridDimZ,
                  launch.blockDimX, launch.blockDimY, launch.blockDimZ,
                  launch.sharedMemBytes, launch.hStream, args, nullptr)
            : driver.LaunchKernelEx(&launch, function, args, nullptr);
    return Translate(result);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block,
                             void** args, size_t shared_memory,
                             cudaStream_t stream) {
  return Launch(stub, LaunchConfig(grid, block, shared_memory, stream), args);
}

// nvcc's host code calls cudaLaunchKernel by this name.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void** args, size_t shared_memory,
                               cudaStream_t stream) {
  return Launch(kernel, LaunchConfig(grid, block, shared_memory, stream), args);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                const void* stub, void** args) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  return Launch(stub, LaunchConfig(*config), args);
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block,
                                        void** args, size_t shared_memory,
                                        cudaStream_t stream) {
  CUlaunchAttribute cooperative{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
  cooperative.value.cooperative = 1;
  CUlaunchConfig launch = LaunchConfig(grid, block, shared_memory, stream);
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  return Launch(stub, launch, args);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void* data) {
  return CallInContext(&Driver::LaunchHostFunc, stream, function, data);
}

}  // extern "C"
