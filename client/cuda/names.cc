// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/names.h"

#include "absl/strings/ascii.h"

namespace holdfast::libcuda {
namespace {

const char* UpperCaseName(CUdevice_attribute attribute) {
  switch (static_cast<int>(attribute)) {
#define HOLDFAST_DEVICE_ATTRIBUTE(NAME) \
  case CU_DEVICE_ATTRIBUTE_##NAME:      \
    return #NAME;
#include "core/cuda/device_attributes.inc"
#undef HOLDFAST_DEVICE_ATTRIBUTE
    default:
      return "";
  }
}

}  // namespace

std::string NameOf(CUdevice_attribute attribute) {
  return absl::AsciiStrToLower(UpperCaseName(attribute));
}

std::string NameOf(CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return "max_threads_per_block";
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return "shared_size_bytes";
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return "const_size_bytes";
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return "local_size_bytes";
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return "num_regs";
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return "ptx_version";
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return "binary_version";
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return "cache_mode_ca";
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return "max_dynamic_shared_size_bytes";
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return "preferred_shared_memory_carveout";
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return "cluster_size_must_be_set";
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return "required_cluster_width";
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return "required_cluster_height";
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return "required_cluster_depth";
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return "non_portable_cluster_size_allowed";
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return "cluster_scheduling_policy_preference";
    default:
      return "";
  }
}

}  // namespace holdfast::libcuda
