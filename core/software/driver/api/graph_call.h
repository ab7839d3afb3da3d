// SPDX-License-Identifier: Apache-2.0
//
// Functions with which entry points about graphs look up their handles. Each
// calls `body` with the objects and returns its result, or returns
// CUDA_ERROR_INVALID_VALUE if a handle is not valid. The lock of all
// definitions is held while `body` runs, except in WithExec.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_API_GRAPH_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_API_GRAPH_CALL_H_

#include <memory>
#include <vector>

#include "core/software/base/mutex.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/exec.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/graph/parameters.h"
#include "cuda.h"

namespace holdfast::software {

// Calls body(Driver&).
template <typename Body>
CUresult WithDefinitions(Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const DefinitionsLock lock(driver.graphs);
    return body(driver);
  });
}

// Calls body(Driver&, Graph&).
template <typename Body>
CUresult WithGraph(CUgraph handle, Body body) {
  return WithDefinitions([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Graph> graph = driver.graphs.graphs.Find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *graph);
  });
}

// Calls body(Driver&, GraphNode&).
template <typename Body>
CUresult WithNode(CUgraphNode handle, Body body) {
  return WithDefinitions([&](Driver& driver) -> CUresult {
    const std::shared_ptr<GraphNode> node = driver.graphs.nodes.Find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *node);
  });
}

// Calls body(Driver&, Node&) for a node of the kind `Node`, such as KernelNode.
template <typename Node, typename Body>
CUresult WithNodeOf(CUgraphNode handle, Body body) {
  return WithNode(handle, [&](Driver& driver, GraphNode& node) -> CUresult {
    auto* parameters = std::get_if<Node>(&node.parameters);
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : body(driver, *parameters);
  });
}

// Calls body(Driver&, GraphExec&), without the lock of definitions.
template <typename Body>
CUresult WithExec(CUgraphExec handle, Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const std::shared_ptr<GraphExec> exec = driver.graphs.execs.Find(handle);
    return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *exec);
  });
}

// Looks up the nodes that an application names as dependencies, and appends
// them to *dependencies. `data` null: all edges are plain. Returns false if a
// handle is not a node, or if `nodes` is null and `count` is not 0.
bool FindDependencies(Driver& driver, const CUgraphNode* nodes,
                      const CUgraphEdgeData* data, size_t count,
                      std::vector<GraphEdge>* dependencies);

// Returns true if the data are those of a plain edge, which can be left out.
bool IsDefault(const CUgraphEdgeData& data);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_API_GRAPH_CALL_H_
