// SPDX-License-Identifier: Apache-2.0
//
// Entry points: launches of kernels, and functions of the program in streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// How a launch is put together from its parts.
CUlaunchConfig Configure(dim3 grid, dim3 block, size_t shared_memory,
                         cudaStream_t stream) {
  return {.gridDimX = grid.x,
          .gridDimY = grid.y,
          .gridDimZ = grid.z,
          .blockDimX = block.x,
          .blockDimY = block.y,
          .blockDimZ = block.z,
          .sharedMemBytes = static_cast<unsigned>(shared_memory),
          .hStream = stream,
          .attrs = nullptr,
          .numAttrs = 0};
}

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
  return Launch(stub, Configure(grid, block, shared_memory, stream), args);
}

// The names that nvcc's host code has for the same.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void** args, size_t shared_memory,
                               cudaStream_t stream) {
  return Launch(kernel, Configure(grid, block, shared_memory, stream), args);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                const void* stub, void** args) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  CUlaunchConfig launch = Configure(config->gridDim, config->blockDim,
                                    config->dynamicSmemBytes, config->stream);
  launch.attrs = As<CUlaunchAttribute>(config->attrs);
  launch.numAttrs = config->numAttrs;
  return Launch(stub, launch, args);
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block,
                                        void** args, size_t shared_memory,
                                        cudaStream_t stream) {
  CUlaunchAttribute cooperative{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
  cooperative.value.cooperative = 1;
  CUlaunchConfig launch = Configure(grid, block, shared_memory, stream);
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  return Launch(stub, launch, args);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void* data) {
  return CallInContext(&Driver::LaunchHostFunc, stream, function, data);
}

}  // extern "C"
