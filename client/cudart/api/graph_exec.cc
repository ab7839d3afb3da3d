// SPDX-License-Identifier: Apache-2.0
//
// Entry points: executable graphs, and changes of their nodes.
#include "client/cudart/graph_call.h"

using namespace holdfast::libcudart;

namespace {

template <typename Describe>
cudaError_t SetCopy(cudaGraphExec_t exec, cudaGraphNode_t node,
                    Describe describe) {
  return WithCopyNode(
      describe,
      [&](const Driver& driver, const CUDA_MEMCPY3D* copy, CUcontext context) {
        return driver.GraphExecMemcpyNodeSetParams(exec, node, copy, context);
      });
}

}  // namespace

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return CallInContext(&Driver::GraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec,
                                          cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return CallInContext(&Driver::GraphExecDestroy, exec);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec,
                                  unsigned long long* flags) {
  return CallInContext(&Driver::GraphExecGetFlags, exec, As<cuuint64_t>(flags));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return CallInContext(&Driver::GraphExecUpdate, exec, graph,
                       As<CUgraphExecUpdateResultInfo>(info));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec,
                                       cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext(
      [&](const Driver& driver, CUcontext context) -> cudaError_t {
        CUgraphNodeParams described;
        const cudaError_t error =
            DescribeNode(driver, context, *parameters, &described);
        if (error != cudaSuccess) return error;
        return Translate(driver.GraphExecNodeSetParams(exec, node, &described));
      });
}

cudaError_t cudaGraphExecKernelNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node,
    const cudaKernelNodeParams* parameters) {
  return WithKernelNode(parameters, [&](const Driver& driver,
                                        const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return driver.GraphExecKernelNodeSetParams(exec, node, kernel);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec,
                                             cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* box) {
  return SetCopy(exec, node, Box(box));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                               cudaGraphNode_t node, void* to,
                                               const void* from, size_t size,
                                               cudaMemcpyKind kind) {
  return SetCopy(exec, node, Bytes(to, from, size, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol,
    const void* from, size_t size, size_t offset, cudaMemcpyKind kind) {
  return SetCopy(exec, node, ToVariable(symbol, from, size, offset, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* symbol,
    size_t size, size_t offset, cudaMemcpyKind kind) {
  return SetCopy(exec, node, FromVariable(to, symbol, size, offset, kind));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec,
                                             cudaGraphNode_t node,
                                             const cudaMemsetParams* fill) {
  return WithContext([&](const Driver& driver, CUcontext context) {
    return driver.GraphExecMemsetNodeSetParams(
        exec, node, As<const CUDA_MEMSET_NODE_PARAMS>(fill), context);
  });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec,
                                           cudaGraphNode_t node,
                                           const cudaHostNodeParams* function) {
  return CallInContext(&Driver::GraphExecHostNodeSetParams, exec, node,
                       As<const CUDA_HOST_NODE_PARAMS>(function));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec,
                                                 cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return CallInContext(&Driver::GraphExecChildGraphNodeSetParams, exec, node,
                       child);
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec,
                                                 cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  return CallInContext(&Driver::GraphExecEventRecordNodeSetEvent, exec, node,
                       event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec,
                                               cudaGraphNode_t node,
                                               cudaEvent_t event) {
  return CallInContext(&Driver::GraphExecEventWaitNodeSetEvent, exec, node,
                       event);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    unsigned enabled) {
  return CallInContext(&Driver::GraphNodeSetEnabled, exec, node, enabled);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    unsigned* enabled) {
  return CallInContext(&Driver::GraphNodeGetEnabled, exec, node, enabled);
}

}  // extern "C"
