// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/node_checks.h"

namespace holdfast::cuda {

bool IsBodyCount(CUgraphConditionalNodeType type, unsigned count) {
  // The limit for a switch is that of a daemon's definitions.
  constexpr unsigned kMostBodies = 1 << 16;
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return count == 1 || count == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return count == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return count > 0 && count <= kMostBodies;
    default:
      return false;
  }
}

bool IsNodeAttribute(CUlaunchAttributeID id) {
  enum Where { kLaunches, kLaunchesAndNodes };
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return true;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  case CU_LAUNCH_ATTRIBUTE_##CUDA_ID:                                  \
    return where == kLaunchesAndNodes;
#include "proto/launch_attributes.inc"
    default:
      return false;
  }
}

}  // namespace holdfast::cuda
