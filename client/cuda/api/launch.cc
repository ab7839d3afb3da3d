// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernel launches. A launch without clusters and attributes does
// not wait.
#include "client/cpp/launch.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/cuda/api/call.h"
#include "client/cuda/graph/capture.h"
#include "client/cuda/graph/work.h"
#include "client/cuda/launch_parameters.h"

using namespace holdfast::libcuda;
using holdfast::Argument;
using holdfast::Kernel;
using holdfast::LaunchConfig;

namespace {

// A launch as the work of a node.
CUresult CaptureLaunch(Stream& stream, CUfunction handle,
                       std::shared_ptr<Function> function,
                       const LaunchConfig& config,
                       std::span<const CUlaunchAttribute> attributes,
                       void** values, void** extra, NodeWork* work) {
  const std::shared_ptr<Context> context = stream.context();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!function->IsUsableIn(*context)) return CUDA_ERROR_INVALID_HANDLE;
  KernelWork kernel{.handle = handle,
                    .function = std::move(function),
                    .context = {context->handle(), context->device().ordinal()},
                    .config = config};
  HOLDFAST_ANSWER_OR_ASSIGN(kernel.kernel, kernel.function->In(*context));
  // In a graph, a programmatic edge allows this overlap. This library treats
  // every edge as a full dependency.
  kernel.config.attributes.programmatic_stream_serialization.reset();
  const CUresult copied =
      CopyParameters(*kernel.function, values, extra, &kernel.block);
  if (copied != CUDA_SUCCESS) return copied;
  for (const CUlaunchAttribute& attribute : attributes) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_IGNORE ||
        attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      continue;
    }
    kernel.attributes[attribute.id] = attribute.value;
  }
  const CUresult checked = CheckKernel(kernel);
  if (checked == CUDA_SUCCESS) *work = std::move(kernel);
  return checked;
}

CUresult Submit(Process& process, const Stream& stream, Function& function,
                const LaunchConfig& config, void** values, void** extra) {
  const std::shared_ptr<Context> context = stream.context();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!function.IsUsableIn(*context)) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<std::byte> block;  // outlives the arguments, which refer to it
  if (values == nullptr) {
    const CUresult read = ReadParameterBuffer(function, extra, &block);
    if (read != CUDA_SUCCESS) return read;
  }
  std::vector<Argument> arguments;
  if (!ReadArguments(function, values, block, &arguments)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(const Kernel kernel, function.In(*context));
  const absl::Status launched = holdfast::Launch(
      stream.queue(), config, kernel, std::span<const Argument>(arguments));
  if (config.cooperative && absl::IsOutOfRange(launched)) {
    return Failed(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, launched.message());
  }
  HOLDFAST_ANSWER_IF_ERROR(launched);
  // Only the device knows which clusters and attributes it takes, and the
  // program is told at once: such a launch costs a round trip.
  const bool is_plain = !config.cluster.has_value() &&
                        !config.attributes.any() && !function.has_clusters();
  return is_plain ? CUDA_SUCCESS : Answer(process.connection().AwaitCommands());
}

CUresult Launch(CUfunction handle, const LaunchConfig& config,
                std::span<const CUlaunchAttribute> attributes,
                CUstream stream_handle, void** values, void** extra) {
  std::shared_ptr<Function> function;
  const auto check = [&](Process& process) {
    function = process.code.FindFunction(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (values != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult shared =
        function->CheckDynamicShared(config.dynamic_shared_bytes);
    return shared != CUDA_SUCCESS ? shared : function->CheckBlock(config.block);
  };
  return WithWork(
      stream_handle,
      [&](Process& process, Stream& stream, NodeWork* work) {
        CUresult result = check(process);
        if (result == CUDA_SUCCESS) {
          result = CaptureLaunch(stream, handle, std::move(function), config,
                                 attributes, values, extra, work);
        }
        // As in CUDA's driver, a launch that fails invalidates the capture.
        if (result != CUDA_SUCCESS) {
          stream.capture->capture->is_invalidated = true;
        }
        return result;
      },
      [&](Process& process, Stream& stream) {
        const CUresult checked = check(process);
        return checked != CUDA_SUCCESS
                   ? checked
                   : Submit(process, stream, *function, config, values, extra);
      });
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void** values, void** extra) {
  return Launch(function,
                {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .dynamic_shared_bytes = shared},
                {}, stream, values, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared,
                                   CUstream stream, void** values) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  return Launch(function,
                {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .dynamic_shared_bytes = shared,
                 .cooperative = true},
                {&cooperative, 1}, stream, values, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* given, CUfunction function,
                          void** values, void** extra) {
  if (given == nullptr || (given->numAttrs > 0 && given->attrs == nullptr)) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  LaunchConfig config{
      .grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
      .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
      .dynamic_shared_bytes = given->sharedMemBytes};
  const std::span<const CUlaunchAttribute> attributes(given->attrs,
                                                      given->numAttrs);
  for (const CUlaunchAttribute& attribute : attributes) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
      return Failed(CUDA_ERROR_INVALID_VALUE);  // an attribute of streams
    }
    if (!ApplyAttribute(attribute, &config))
      return Failed(CUDA_ERROR_NOT_SUPPORTED);
  }
  if (!HasWholeClusters(config)) return Failed(CUDA_ERROR_INVALID_CLUSTER_SIZE);
  return Launch(function, config, attributes, given->hStream, values, extra);
}

}  // extern "C"
