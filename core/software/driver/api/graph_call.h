// SPDX-License-Identifier: Apache-2.0
//
// How an entry point about graphs begins. Definitions have one lock, which is
// held while `body` runs.
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

// body(Driver&).
template <typename Body>
CUresult WithDefinitions(Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const DefinitionsLock lock(driver.graphs);
    return body(driver);
  });
}

// body(Driver&, Graph&).
template <typename Body>
CUresult WithGraph(CUgraph handle, Body body) {
  return WithDefinitions([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Graph> graph = driver.graphs.graphs.Find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *graph);
  });
}

// body(Driver&, GraphNode&).
template <typename Body>
CUresult WithNode(CUgraphNode handle, Body body) {
  return WithDefinitions([&](Driver& driver) -> CUresult {
    const std::shared_ptr<GraphNode> node = driver.graphs.nodes.Find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *node);
  });
}

// body(Driver&, Node&), for a node that is a `Node`, such as a KernelNode.
template <typename Node, typename Body>
CUresult WithNodeOf(CUgraphNode handle, Body body) {
  return WithNode(handle, [&](Driver& driver, GraphNode& node) -> CUresult {
    auto* parameters = std::get_if<Node>(&node.parameters);
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : body(driver, *parameters);
  });
}

// body(Driver&, GraphExec&), without the lock of definitions.
template <typename Body>
CUresult WithExec(CUgraphExec handle, Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const std::shared_ptr<GraphExec> exec = driver.graphs.execs.Find(handle);
    return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *exec);
  });
}

// Looks the nodes up that an application names as dependencies. `data` may be
// null. Returns false if one is not a node.
bool FindDependencies(Driver& driver, const CUgraphNode* nodes,
                      const CUgraphEdgeData* data, size_t count,
                      std::vector<GraphEdge>* dependencies);

// Whether an edge is told in full without its data.
bool IsDefault(const CUgraphEdgeData& data);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_API_GRAPH_CALL_H_
