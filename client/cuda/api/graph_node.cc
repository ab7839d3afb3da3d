// SPDX-License-Identifier: Apache-2.0
//
// Entry points: adding nodes to graphs, and their parameters.
#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

using GraphNode = Node;
using GraphEdge = Edge;

template <typename Work>
CUcontext ContextOf(const Work& work) {
  return work.context.handle;
}

const CUDA_MEMSET_NODE_PARAMS& FillParameters(const FillWork& fill) {
  return fill.parameters;
}

}  // namespace

#include "core/cuda/graph_node_calls.inc"
