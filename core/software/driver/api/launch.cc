// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernel launches.
#include <chrono>
#include <map>
#include <utility>

#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/kernel_launch.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/watchdog.h"

using namespace holdfast::software;

namespace {

using Attributes = std::map<CUlaunchAttributeID, CUlaunchAttributeValue>;

CUresult Launch(CUfunction function, const LaunchGeometry& geometry,
                CUstream stream_handle, void** values, void** extra,
                const Attributes& attributes = {}) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    std::shared_ptr<Kernel> kernel = driver.code.FindKernel(function);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    KernelLaunch launch;
    const CUresult result = PrepareLaunch(std::move(kernel), stream.context(),
                                          geometry, values, extra, &launch);
    if (result != CUDA_SUCCESS) {
      // As in CUDA's driver, a launch that fails invalidates the capture.
      BreakCapture(driver, stream);
      return result;
    }
    CUresult captured;
    if (Captured(driver, stream, &captured, [&](NodeWork* node) {
          *node = KernelWork{function, stream.context().handle(),
                             std::move(launch), attributes};
          return CUDA_SUCCESS;
        })) {
      return captured;
    }
    if (!StartWatchdog(
            std::chrono::seconds(GetSettings().launch_timeout_seconds))) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return stream.Add({.run = [launch = std::move(launch)] { Run(launch); }},
                      Stream::Runner::kWorker);
  });
}

Attributes Cooperative() {
  CUlaunchAttributeValue value{};
  value.cooperative = 1;
  return {{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value}};
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void** values, void** extra) {
  return Launch(function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared},
                stream, values, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared,
                                   CUstream stream, void** values) {
  return Launch(function,
                {{grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared,
                 /*cooperative=*/true},
                stream, values, nullptr, Cooperative());
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                          void** values, void** extra) {
  LaunchGeometry geometry;
  const CUresult result = ReadConfig(config, &geometry);
  if (result != CUDA_SUCCESS) return result;
  Attributes attributes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE) {
      attributes[attribute.id] = attribute.value;
    }
  }
  return Launch(function, geometry, config->hStream, values, extra, attributes);
}

}  // extern "C"
