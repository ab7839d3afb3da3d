// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITION_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITION_H_

#include <cstdint>

namespace holdfast {

// A value of a graph that kernels set (cudaGraphSetConditional) and that
// conditional nodes test; the kernel's parameter is a
// cudaGraphConditionalHandle. Made by GraphDefinition::CreateCondition.
struct GraphCondition {
  uint32_t id = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITION_H_
