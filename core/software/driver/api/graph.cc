// SPDX-License-Identifier: Apache-2.0
//
// Entry points: definitions of graphs, their nodes and dependencies.
#include "core/software/driver/graph/graph.h"

#include <memory>

#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/dot.h"

using namespace holdfast::software;

#include "core/cuda/graph_calls.inc"

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return WithDefinitions([&](Driver& driver) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = Publish(driver.graphs, std::make_shared<Graph>(&driver.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return WithGraph(handle, [&](Driver&, Graph& graph) {
    // A graph within another goes with its node.
    if (graph.owner() != nullptr) return CUDA_ERROR_INVALID_VALUE;
    graph.Withdraw();
    graph.user_objects = holdfast::cuda::UserReferences();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return WithGraph(original, [&](Driver& driver, Graph& graph) {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!graph.can_be_cloned()) return CUDA_ERROR_NOT_SUPPORTED;
    *clone = Publish(driver.graphs, graph.Clone(&driver.graphs));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
