// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernel launches. A launch without clusters and attributes does
// not wait.
#include "client/cpp/launch.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "client/cuda/call.h"

using namespace holdfast::libcuda;
using holdfast::Argument;
using holdfast::LaunchConfig;

namespace {

// The buffer of CU_LAUNCH_PARAM_BUFFER_POINTER and ..._SIZE; null data: there
// is none.
std::span<const std::byte> ParameterBuffer(void** extra) {
  const std::byte* data = nullptr;
  size_t size = 0;
  for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      data = static_cast<const std::byte*>(extra[1]);
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const size_t*>(extra[1]);
    }
  }
  return {data, size};
}

// A number of 64 bits may be an address of pinned memory, which a launch
// translates where kernels have that memory at another address.
Argument ArgumentOf(const std::byte* value, size_t size) {
  if (size != sizeof(uint64_t)) return Argument(std::span(value, size));
  uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  return Argument(number);
}

// The bytes of each parameter, in the program's memory. False: parameters are
// missing.
bool ReadArguments(const Function& function, void** values, void** extra,
                   std::vector<Argument>* arguments) {
  const std::span<const std::byte> buffer = ParameterBuffer(extra);
  int i = 0;
  for (const auto& parameter : function.parameters()) {
    const std::byte* value = nullptr;
    if (values != nullptr) {
      value = static_cast<const std::byte*>(values[i++]);
    } else if (parameter.offset() + parameter.size() <= buffer.size()) {
      value = buffer.data() + parameter.offset();
    }
    if (value == nullptr) return false;
    arguments->push_back(ArgumentOf(value, parameter.size()));
  }
  return true;
}

CUresult Launch(CUfunction handle, const LaunchConfig& config,
                CUstream stream_handle, void** values, void** extra) {
  return WithWork(
      stream_handle, [&](Process& process, Stream& stream) -> CUresult {
        const auto function = process.functions.Find(handle);
        if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (config.dynamic_shared_bytes > function->dynamic_shared_limit()) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        std::vector<Argument> arguments;
        if ((values != nullptr && extra != nullptr) ||
            !ReadArguments(*function, values, extra, &arguments)) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        const absl::Status launched =
            holdfast::Launch(stream.queue(), config, function->kernel(),
                             std::span<const Argument>(arguments));
        if (config.cooperative && absl::IsOutOfRange(launched)) {
          return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        }
        HOLDFAST_ANSWER_IF_ERROR(launched);
        // Only the device knows which clusters and attributes it takes, and
        // the program is told at once: such a launch costs a round trip.
        const bool is_plain = !config.cluster.has_value() &&
                              !config.attributes.any() &&
                              !function->has_clusters();
        return is_plain ? CUDA_SUCCESS : Answer(process.AwaitCommands());
      });
}

// As the driver checks it: a cluster of whole blocks in each dimension.
bool Divides(const std::optional<holdfast::Dim3>& cluster,
             const holdfast::Dim3& grid) {
  return !cluster.has_value() ||
         (cluster->x != 0 && cluster->y != 0 && cluster->z != 0 &&
          grid.x % cluster->x == 0 && grid.y % cluster->y == 0 &&
          grid.z % cluster->z == 0);
}

// False: an attribute that is not served.
bool Apply(const CUlaunchAttribute& attribute, LaunchConfig* config) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
      return true;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      config->cooperative = value.cooperative != 0;
      return true;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      // All zero: no cluster.
      if ((value.clusterDim.x | value.clusterDim.y | value.clusterDim.z) != 0) {
        config->cluster = holdfast::Dim3(value.clusterDim.x, value.clusterDim.y,
                                         value.clusterDim.z);
      }
      return true;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      config->attributes.priority = value.priority;
      return true;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      config->attributes.programmatic_stream_serialization =
          value.programmaticStreamSerializationAllowed != 0;
      return true;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      config->attributes.preferred_cluster = holdfast::Dim3(
          value.preferredClusterDim.x, value.preferredClusterDim.y,
          value.preferredClusterDim.z);
      return true;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      config->attributes.preferred_shared_memory_carveout =
          value.sharedMemCarveout;
      return true;
    default:
      return false;
  }
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
                stream, values, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared,
                                   CUstream stream, void** values) {
  return Launch(function,
                {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .dynamic_shared_bytes = shared,
                 .cooperative = true},
                stream, values, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* given, CUfunction function,
                          void** values, void** extra) {
  if (given == nullptr || (given->numAttrs > 0 && given->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  LaunchConfig config{
      .grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
      .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
      .dynamic_shared_bytes = given->sharedMemBytes};
  for (unsigned i = 0; i < given->numAttrs; ++i) {
    if (!Apply(given->attrs[i], &config)) return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (!Divides(config.cluster, config.grid) ||
      !Divides(config.attributes.preferred_cluster, config.grid)) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return Launch(function, config, given->hStream, values, extra);
}

}  // extern "C"
