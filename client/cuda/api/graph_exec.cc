// SPDX-License-Identifier: Apache-2.0
//
// Entry points: instantiated graphs, their launches and updates.
#include "client/cuda/graph/graph_exec.h"

#include <utility>

#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

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
CUresult CopyDefinition(CUgraph handle, std::shared_ptr<Graph>* definition) {
  return WithGraph(handle, [&](Process&, Graph& graph) {
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
      result = CopyDefinition(graph_handle, &definition);
    }
    if (result != CUDA_SUCCESS) return result;
    const bool is_only =
        definition->has_memory_nodes() || definition->has_conditional_nodes();
    std::shared_ptr<GraphExec> exec;
    result = GraphExec::Create(process, context, std::move(definition), flags,
                               &exec, error);
    if (result != CUDA_SUCCESS) return result;
    if (is_only) {
      result = WithGraph(graph_handle, [&](Process&, Graph& graph) {
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

// Gives a node the work of read(Process&, const Graph&, NodeWork*). The node
// must still be in its graph.
template <typename Read>
CUresult SetWork(CUgraphExec exec_handle, CUgraphNode node, Read read) {
  return WithExec(exec_handle, [&](Process&, GraphExec& exec) {
    NodeWork work;
    const CUresult result = WithNode(node, [&](Process& process, Node& found) {
      return read(process, *found.graph, &work);
    });
    return result != CUDA_SUCCESS ? result
                                  : exec.SetWork(node, std::move(work));
  });
}

bool IsNode(Process& process, CUgraphNode node) {
  return process.graphs.nodes.Find(node) != nullptr;
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

extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                     unsigned long long flags) {
  // An upload needs a stream, which this call does not have.
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
  return WithExec(handle, [&](Process&, GraphExec& exec) {
    return WithWork(
        stream_handle, RefuseCapture,
        [&](Process&, Stream& stream) { return exec.Upload(stream); });
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return WithExec(handle, [&](Process&, GraphExec& exec) {
    return WithWork(
        stream_handle, RefuseCapture,
        [&](Process&, Stream& stream) { return exec.Launch(stream); });
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  return WithExec(exec_handle, [&](Process& process, GraphExec& exec) {
    const std::shared_ptr<Graph> graph =
        process.graphs.graphs.Find(graph_handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : exec.Update(*graph, info);
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                  CUgraphNodeParams* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (parameters->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return cuGraphExecChildGraphNodeSetParams(exec, node,
                                                parameters->graph.graph);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return CUDA_ERROR_INVALID_VALUE;
    default:
      return SetWork(exec, node,
                     [&](Process& process, const Graph& graph, NodeWork* work) {
                       return ReadWork(process, graph, parameters, work);
                     });
  }
}

CUresult cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return SetWork(
      exec, node, [&](Process& process, const Graph&, NodeWork* work) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                     : ReadKernel(process, *parameters, work);
      });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* parameters,
                                        CUcontext context) {
  return SetWork(exec, node,
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadCopy(process, *parameters, context, work);
                 });
}

CUresult cuGraphExecMemsetNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context) {
  return SetWork(exec, node,
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadFill(process, *parameters, context, work);
                 });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return SetWork(
      exec, node, [&](Process& process, const Graph&, NodeWork* work) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                     : ReadValues(process, *parameters, work);
      });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* parameters) {
  return SetWork(exec, node, [&](Process&, const Graph&, NodeWork* work) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : ReadHost(*parameters, work);
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec_handle,
                                            CUgraphNode node, CUgraph child) {
  return WithExec(exec_handle, [&](Process& process, GraphExec& exec) {
    const std::shared_ptr<Graph> graph = process.graphs.graphs.Find(child);
    return graph == nullptr || !IsNode(process, node)
               ? CUDA_ERROR_INVALID_VALUE
               : exec.SetChild(node, *graph);
  });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                            CUevent event) {
  return SetWork(exec, node,
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return ReadEventRecord(process, event, work);
                 });
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                          CUevent event) {
  return SetWork(exec, node,
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return ReadEventWait(process, event, work);
                 });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node,
                               unsigned enabled) {
  return WithExec(handle, [&](Process& process, GraphExec& exec) {
    return IsNode(process, node) ? exec.SetEnabled(node, enabled != 0)
                                 : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node,
                               unsigned* enabled) {
  return WithExec(handle, [&](Process& process, GraphExec& exec) {
    if (enabled == nullptr || !IsNode(process, node)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    bool value = false;
    const CUresult result = exec.GetEnabled(node, &value);
    if (result == CUDA_SUCCESS) *enabled = value ? 1 : 0;
    return result;
  });
}

}  // extern "C"
