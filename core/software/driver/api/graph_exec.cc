// SPDX-License-Identifier: Apache-2.0
//
// Entry points: instantiated graphs, their launches and updates.
#include <utility>

#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/exec.h"

using namespace holdfast::software;

namespace {

constexpr cuuint64_t kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                              CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                              CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult Snapshot(const Graph& graph, std::shared_ptr<Graph>* definition) {
  // A graph within another is not run by itself if it is more than a copy.
  if (graph.owner() != nullptr && !graph.can_be_cloned()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!graph.only_exec.expired()) return CUDA_ERROR_NOT_SUPPORTED;
  *definition = graph.Clone(nullptr);
  return CUDA_SUCCESS;
}

// Copies the definition under its lock, and compiles without it.
CUresult Instantiate(CUgraphExec* handle, CUgraph graph_handle,
                     cuuint64_t flags, InstantiationError* error) {
  return WithContext([&](Driver& driver, Context&) {
    if (handle == nullptr || (flags & ~kFlags) != 0) {
      return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0
                 ? CUDA_ERROR_NOT_SUPPORTED
                 : CUDA_ERROR_INVALID_VALUE;
    }
    std::shared_ptr<Graph> definition;
    const CUresult result = WithGraph(graph_handle, [&](Driver&, Graph& graph) {
      return Snapshot(graph, &definition);
    });
    if (result != CUDA_SUCCESS) return result;
    const bool only = !definition->can_be_cloned();
    std::shared_ptr<GraphExec> exec =
        GraphExec::Create(std::move(definition), driver.memory,
                          flags & ~CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, error);
    if (exec == nullptr) return error->result;
    if (only) {
      WithGraph(graph_handle, [&](Driver&, Graph& graph) {
        graph.only_exec = exec;
        return CUDA_SUCCESS;
      });
    }
    *handle = driver.graphs.execs.Add(std::move(exec));
    return CUDA_SUCCESS;
  });
}

}  // namespace

#include "core/cuda/graph_exec_calls.inc"

extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                     unsigned long long flags) {
  // Uploading needs a stream, which this call does not have.
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  InstantiationError error;
  return Instantiate(exec, graph, flags, &error);
}

CUresult cuGraphInstantiateWithParams(
    CUgraphExec* exec, CUgraph graph,
    CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  InstantiationError error;
  const CUresult result = Instantiate(exec, graph, parameters->flags, &error);
  parameters->hErrNode_out = error.node;
  if (result == CUDA_SUCCESS) {
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  } else if (error.unused_condition) {
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
  } else if (error.node != nullptr && result == CUDA_ERROR_INVALID_VALUE) {
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  } else {
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  }
  return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return WithExec(handle, [&](Driver&, GraphExec& exec) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // libcuda 13.0 does not tell this one.
    *flags = exec.flags() &
             ~cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return WithDriver([&](Driver& driver) {
    // Launches that are under way keep what they need.
    return driver.graphs.execs.Remove(handle) == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  // Everything is made at instantiation.
  return WithStream(stream, [&](Driver& driver, Stream&) {
    return driver.graphs.execs.Find(handle) == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    const std::shared_ptr<GraphExec> exec = driver.graphs.execs.Find(handle);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUresult refused;
    if (RefusedByCapture(driver, stream, &refused)) return refused;
    return exec->Launch(stream);
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  return WithExec(exec_handle, [&](Driver&, GraphExec& exec) {
    return WithGraph(graph_handle, [&](Driver&, Graph& graph) {
      return exec.Update(graph, info);
    });
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec_handle,
                                            CUgraphNode node, CUgraph child) {
  return WithExec(exec_handle, [&](Driver&, GraphExec& exec) {
    return WithGraph(child, [&](Driver& driver, Graph& graph) {
      return driver.graphs.nodes.Find(node) == nullptr
                 ? CUDA_ERROR_INVALID_VALUE
                 : exec.SetChild(node, graph);
    });
  });
}

}  // extern "C"
