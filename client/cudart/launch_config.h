// SPDX-License-Identifier: Apache-2.0
//
// Converts launches to the driver's descriptions.
#ifndef HOLDFAST_CLIENT_CUDART_LAUNCH_CONFIG_H_
#define HOLDFAST_CLIENT_CUDART_LAUNCH_CONFIG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda.h"
#include "cuda_runtime_api.h"

namespace holdfast::libcudart {

inline CUlaunchConfig LaunchConfig(dim3 grid, dim3 block, size_t shared_memory,
                                   cudaStream_t stream) {
  return {.gridDimX = grid.x,
          .gridDimY = grid.y,
          .gridDimZ = grid.z,
          .blockDimX = block.x,
          .blockDimY = block.y,
          .blockDimZ = block.z,
          // No device has 4 GiB: the driver refuses the largest number.
          .sharedMemBytes = static_cast<unsigned>(
              std::min<size_t>(shared_memory, UINT32_MAX)),
          .hStream = stream,
          .attrs = nullptr,
          .numAttrs = 0};
}

inline CUlaunchConfig LaunchConfig(const cudaLaunchConfig_t& config) {
  CUlaunchConfig launch = LaunchConfig(config.gridDim, config.blockDim,
                                       config.dynamicSmemBytes, config.stream);
  launch.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
  launch.numAttrs = config.numAttrs;
  return launch;
}

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_LAUNCH_CONFIG_H_
