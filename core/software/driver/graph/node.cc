// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/node.h"

#include <iterator>

namespace holdfast::software {
namespace {

constexpr CUgraphNodeType kNodeTypes[] = {
    CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_HOST,
    CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT,   CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE,     CU_GRAPH_NODE_TYPE_CONDITIONAL,
};
static_assert(std::size(kNodeTypes) == std::variant_size_v<NodeWork>);

}  // namespace

CUgraphNodeType TypeOf(const NodeWork& work) {
  return kNodeTypes[work.index()];
}

const InnerGraphs& GraphsOf(const NodeWork& work) {
  static const auto& none = *new InnerGraphs;
  if (const auto* child = std::get_if<ChildWork>(&work)) {
    return child->graphs;
  }
  const auto* conditional = std::get_if<ConditionalWork>(&work);
  return conditional == nullptr ? none : conditional->graphs;
}

}  // namespace holdfast::software
