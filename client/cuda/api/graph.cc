// SPDX-License-Identifier: Apache-2.0
//
// Entry points: definitions of graphs, their nodes and edges.
#include "client/cuda/graph/graph.h"

#include <memory>

#include "client/cuda/api/graph_call.h"
#include "client/cuda/graph/dot.h"

using namespace holdfast::libcuda;

namespace {

using GraphNode = Node;
using GraphEdge = Edge;

}  // namespace

#include "core/cuda/graph_calls.inc"

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return WithDefinitions([&](Process& process) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = Graph::Publish(process.graphs,
                            std::make_shared<Graph>(&process.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return WithDefinitions([&](Process& process) {
    const std::shared_ptr<Graph> ended = process.graphs.graphs.Find(handle);
    // A graph in another goes with its node.
    if (ended == nullptr || ended->owner() != nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    ended->Withdraw();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return WithGraph(original, [&](Process& process, Graph& graph) {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (graph.has_memory_nodes() || graph.has_conditional_nodes()) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    *clone = Graph::Publish(process.graphs, graph.Clone(&process.graphs));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
