// SPDX-License-Identifier: Apache-2.0
//
// Wrappers for the bodies of entry points about graphs. Each finds the objects
// of the handles, holds the lock of definitions unless its comment says
// otherwise, and calls `body`. CUDA_ERROR_INVALID_VALUE: a handle names no live
// object.
#ifndef HOLDFAST_CLIENT_CUDA_API_GRAPH_CALL_H_
#define HOLDFAST_CLIENT_CUDA_API_GRAPH_CALL_H_

#include <memory>
#include <vector>

#include "client/cuda/api/call.h"
#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/graph_exec.h"
#include "client/cuda/graph/work.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Calls body(Process&).
template <typename Body>
CUresult WithDefinitions(Process& process, Body body) {
  return WithObjects(process, [&](Process&) -> CUresult {
    const DefinitionsLock lock(process.graphs);
    return body(process);
  });
}
template <typename Body>
CUresult WithDefinitions(Body body) {
  return WithProcess(
      [&](Process& process) { return WithDefinitions(process, body); });
}

// Calls body(Process&, Graph&).
template <typename Body>
CUresult WithGraph(Process& process, CUgraph handle, Body body) {
  return WithDefinitions(process, [&](Process&) -> CUresult {
    const std::shared_ptr<Graph> graph = process.graphs.graphs.Find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(process, *graph);
  });
}
template <typename Body>
CUresult WithGraph(CUgraph handle, Body body) {
  return WithProcess(
      [&](Process& process) { return WithGraph(process, handle, body); });
}

// Calls body(Process&, Node&).
template <typename Body>
CUresult WithNode(CUgraphNode handle, Body body) {
  return WithDefinitions([&](Process& process) -> CUresult {
    const std::shared_ptr<Node> node = process.graphs.nodes.Find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(process, *node);
  });
}

// Calls body(Process&, Work&). CUDA_ERROR_INVALID_VALUE also if the node has
// other work.
template <typename Work, typename Body>
CUresult WithWorkOf(CUgraphNode handle, Body body) {
  return WithNode(handle, [&](Process& process, Node& node) -> CUresult {
    auto* work = std::get_if<Work>(&node.work);
    return work == nullptr ? CUDA_ERROR_INVALID_VALUE : body(process, *work);
  });
}

// Calls body(Process&, GraphExec&), without the lock of definitions.
template <typename Body>
CUresult WithExec(CUgraphExec handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    const std::shared_ptr<GraphExec> exec = process.graphs.execs.Find(handle);
    return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(process, *exec);
  });
}

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_API_GRAPH_CALL_H_
