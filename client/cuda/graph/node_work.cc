// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/node_work.h"

#include <iterator>

namespace holdfast::libcuda {
namespace {

constexpr CUgraphNodeType kNodeTypes[] = {
    CU_GRAPH_NODE_TYPE_KERNEL,      CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,      CU_GRAPH_NODE_TYPE_HOST,
    CU_GRAPH_NODE_TYPE_GRAPH,       CU_GRAPH_NODE_TYPE_EMPTY,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT,  CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC,   CU_GRAPH_NODE_TYPE_MEM_FREE,
    CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
};
static_assert(std::size(kNodeTypes) == std::variant_size_v<NodeWork>);

}  // namespace

CUgraphNodeType TypeOf(const NodeWork& work) {
  return kNodeTypes[work.index()];
}

const InnerGraphs& GraphsOf(const NodeWork& work) {
  static const InnerGraphs& none = *new InnerGraphs;
  if (const auto* child = std::get_if<ChildWork>(&work)) return child->graphs;
  if (const auto* conditional = std::get_if<ConditionalWork>(&work)) {
    return conditional->graphs;
  }
  return none;
}

}  // namespace holdfast::libcuda
