// SPDX-License-Identifier: Apache-2.0
//
// Functions with which entry points about graphs look up their handles. Each
// function calls `body` with the objects and returns the result of `body`. If a
// handle is not valid, it returns CUDA_ERROR_INVALID_VALUE. All but WithExec
// hold the lock of all graph definitions (DefinitionsLock) while `body` runs.
// All fail as WithDriver does.
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

// Calls body(Driver&, Work&) for a node with work of the type `Work`.
template <typename Work, typename Body>
CUresult WithWorkOf(CUgraphNode handle, Body body) {
  return WithNode(handle, [&](Driver& driver, GraphNode& node) -> CUresult {
    auto* work = std::get_if<Work>(&node.work);
    return work == nullptr ? CUDA_ERROR_INVALID_VALUE : body(driver, *work);
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

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_API_GRAPH_CALL_H_
