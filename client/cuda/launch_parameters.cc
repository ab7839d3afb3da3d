// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/launch_parameters.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace holdfast::libcuda {
namespace {

// A number of 64 bits may be an address of pinned memory, which a launch
// translates where kernels have that memory at another address.
Argument ArgumentOf(const std::byte* value, size_t size) {
  if (size != sizeof(uint64_t)) return Argument(std::span(value, size));
  uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  return Argument(number);
}

bool Divides(const std::optional<Dim3>& cluster, const Dim3& grid) {
  return !cluster.has_value() ||
         (cluster->x != 0 && cluster->y != 0 && cluster->z != 0 &&
          grid.x % cluster->x == 0 && grid.y % cluster->y == 0 &&
          grid.z % cluster->z == 0);
}

// The buffer of CU_LAUNCH_PARAM_BUFFER_POINTER and ..._SIZE; null data if there
// is none. `extra` may be null.
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

// The bytes of the block of all parameters.
size_t SizeOfParameters(const Function& function) {
  size_t size = 0;
  for (const auto& parameter : function.parameters()) {
    size = std::max<size_t>(size, parameter.offset() + parameter.size());
  }
  return size;
}

}  // namespace

CUresult ReadParameterBuffer(const Function& function, void** extra,
                             std::vector<std::byte>* block) {
  block->assign(SizeOfParameters(function), std::byte{0});
  if (block->empty()) return CUDA_SUCCESS;
  const std::span<const std::byte> buffer = ParameterBuffer(extra);
  if (buffer.data() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (buffer.size() > block->size()) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::memcpy(block->data(), buffer.data(), buffer.size());
  return CUDA_SUCCESS;
}

bool ReadArguments(const Function& function, void** values,
                   std::span<const std::byte> block,
                   std::vector<Argument>* arguments) {
  int i = 0;
  for (const auto& parameter : function.parameters()) {
    const std::byte* value = nullptr;
    if (values != nullptr) {
      value = static_cast<const std::byte*>(values[i++]);
    } else if (parameter.offset() + parameter.size() <= block.size()) {
      value = block.data() + parameter.offset();
    }
    if (value == nullptr) return false;
    arguments->push_back(ArgumentOf(value, parameter.size()));
  }
  return true;
}

CUresult CopyParameters(const Function& function, void** values, void** extra,
                        std::vector<std::byte>* block) {
  if (values == nullptr) return ReadParameterBuffer(function, extra, block);
  block->assign(SizeOfParameters(function), std::byte{0});
  for (const auto& parameter : function.parameters()) {
    const void* const value = *values++;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(block->data() + parameter.offset(), value, parameter.size());
  }
  return CUDA_SUCCESS;
}

bool ApplyAttribute(const CUlaunchAttribute& attribute, LaunchConfig* config) {
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
        config->cluster =
            Dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
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
      config->attributes.preferred_cluster =
          Dim3(value.preferredClusterDim.x, value.preferredClusterDim.y,
               value.preferredClusterDim.z);
      return true;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      config->attributes.preferred_shared_memory_carveout =
          value.sharedMemCarveout;
      return true;
    // Hints about time, which change no result.
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return true;
    default:
      return false;
  }
}

bool HasWholeClusters(const LaunchConfig& config) {
  return Divides(config.cluster, config.grid) &&
         Divides(config.attributes.preferred_cluster, config.grid);
}

}  // namespace holdfast::libcuda
