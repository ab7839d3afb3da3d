// SPDX-License-Identifier: Apache-2.0
//
// Entry points: instantiated graphs, their launches and updates.
#include "client/cuda/graph/graph_exec.h"

#include <utility>

#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

using GraphNode = Node;

constexpr cuuint64_t kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                              CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                              CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult CheckFlags(cuuint64_t flags) {
  if ((flags & ~kFlags) == 0) return CUDA_SUCCESS;
  return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0
             ? CUDA_ERROR_NOT_SUPPORTED
             : CUDA_ERROR_INVALID_VALUE;
}

// Copies the definition, so that the daemon is asked without the lock.
CUresult CopyDefinition(Process& process, CUgraph handle,
                        std::shared_ptr<Graph>* definition) {
  return WithGraph(process, handle, [&](Process&, Graph& graph) {
    const bool is_only =
        graph.has_memory_nodes() || graph.has_conditional_nodes();
    if (graph.owner() != nullptr && is_only) return CUDA_ERROR_INVALID_VALUE;
    if (!graph.only_exec.expired()) return CUDA_ERROR_NOT_SUPPORTED;
    *definition = graph.Clone(nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult Instantiate(CUgraphExec* handle, CUgraph graph_handle,
                     cuuint64_t flags, InstantiationError* error) {
  return WithContext([&](Process& process, Context& context) {
    CUresult result =
        handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CheckFlags(flags);
    std::shared_ptr<Graph> definition;
    if (result == CUDA_SUCCESS) {
      result = CopyDefinition(process, graph_handle, &definition);
    }
    if (result != CUDA_SUCCESS) return result;
    const bool is_only =
        definition->has_memory_nodes() || definition->has_conditional_nodes();
    std::shared_ptr<GraphExec> exec;
    result = GraphExec::Create(process, context, std::move(definition), flags,
                               &exec, error);
    if (result != CUDA_SUCCESS) return result;
    if (is_only) {
      result = WithGraph(process, graph_handle, [&](Process&, Graph& graph) {
        if (!graph.only_exec.expired()) return CUDA_ERROR_NOT_SUPPORTED;
        graph.only_exec = exec;
        return CUDA_SUCCESS;
      });
      if (result != CUDA_SUCCESS) return result;
    }
    *handle = process.graphs.execs.Add(std::move(exec));
    return CUDA_SUCCESS;
  });
}

CUgraphInstantiateResult ResultOf(CUresult result,
                                  const InstantiationError& error) {
  if (result == CUDA_SUCCESS) return CUDA_GRAPH_INSTANTIATE_SUCCESS;
  if (error.has_unused_condition) {
    return CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
  }
  return error.node != nullptr && result == CUDA_ERROR_INVALID_VALUE
             ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
             : CUDA_GRAPH_INSTANTIATE_ERROR;
}

}  // namespace

#include "core/cuda/graph_exec_calls.inc"

extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                     unsigned long long flags) {
  // An upload needs a stream, which this call does not have.
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  InstantiationError error;
  return Instantiate(exec, graph, flags, &error);
}

CUresult cuGraphInstantiateWithParams(
    CUgraphExec* exec, CUgraph graph,
    CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  InstantiationError error;
  CUresult result = Instantiate(exec, graph, parameters->flags, &error);
  if (result == CUDA_SUCCESS &&
      (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    result = cuGraphUpload(*exec, parameters->hUploadStream);
    if (result != CUDA_SUCCESS) cuGraphExecDestroy(*exec);
  }
  parameters->hErrNode_out = error.node;
  parameters->result_out = ResultOf(result, error);
  return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return WithExec(handle, [&](Process&, GraphExec& exec) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // NVIDIA's driver does not tell these two.
    *flags = exec.flags() &
             ~cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                         CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return WithObjects([&](Process& process) {
    return process.graphs.execs.Remove(handle) == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  return WithExec(handle, [&](Process& process, GraphExec& exec) {
    return WithWork(
        process, stream_handle, RefuseCapture,
        [&](Process&, Stream& stream) { return exec.Upload(stream); });
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return WithExec(handle, [&](Process& process, GraphExec& exec) {
    return WithWork(
        process, stream_handle, RefuseCapture,
        [&](Process&, Stream& stream) { return exec.Launch(stream); });
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  return WithExec(exec_handle, [&](Process& process, GraphExec& exec) {
    const std::shared_ptr<Graph> graph =
        process.graphs.graphs.Find(graph_handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : exec.Update(*graph, info);
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec_handle,
                                            CUgraphNode node, CUgraph child) {
  return WithExec(exec_handle, [&](Process& process, GraphExec& exec) {
    const std::shared_ptr<Graph> graph = process.graphs.graphs.Find(child);
    return graph == nullptr || process.graphs.nodes.Find(node) == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : exec.SetChild(node, *graph);
  });
}

}  // extern "C"
