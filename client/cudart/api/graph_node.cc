// SPDX-License-Identifier: Apache-2.0
//
// Entry points: nodes of graphs.
#include "client/cudart/graph_call.h"

using namespace holdfast::libcudart;

namespace {

const CUDA_MEMSET_NODE_PARAMS* FillOf(const cudaMemsetParams* fill) {
  return As<const CUDA_MEMSET_NODE_PARAMS>(fill);
}

const CUDA_HOST_NODE_PARAMS* FunctionOf(const cudaHostNodeParams* function) {
  return As<const CUDA_HOST_NODE_PARAMS>(function);
}

template <typename Describe>
cudaError_t AddCopy(cudaGraphNode_t* node, cudaGraph_t graph,
                    const cudaGraphNode_t* dependencies, size_t count,
                    Describe describe) {
  return WithCopyNode(
      describe,
      [&](const Driver& driver, const CUDA_MEMCPY3D* copy, CUcontext context) {
        return driver.GraphAddMemcpyNode(node, graph, dependencies, count, copy,
                                         context);
      });
}

template <typename Describe>
cudaError_t SetCopy(cudaGraphNode_t node, Describe describe) {
  return WithCopyNode(describe, [&](const Driver& driver,
                                    const CUDA_MEMCPY3D* copy, CUcontext) {
    return driver.GraphMemcpyNodeSetParams(node, copy);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* edges, size_t count,
                             cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext(
      [&](const Driver& driver, CUcontext context) -> cudaError_t {
        CUgraphNodeParams described;
        const cudaError_t error =
            DescribeNode(driver, context, *parameters, &described);
        if (error != cudaSuccess) return error;
        const CUresult result = driver.GraphAddNode(
            node, graph, dependencies, As<const CUgraphEdgeData>(edges), count,
            &described);
        if (result == CUDA_SUCCESS) ReadAnswer(described, parameters);
        return Translate(result);
      });
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                   cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext(
      [&](const Driver& driver, CUcontext context) -> cudaError_t {
        CUgraphNodeParams described;
        const cudaError_t error =
            DescribeNode(driver, context, *parameters, &described);
        if (error != cudaSuccess) return error;
        return Translate(driver.GraphNodeSetParams(node, &described));
      });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies,
                                   size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return WithKernelNode(parameters, [&](const Driver& driver,
                                        const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return driver.GraphAddKernelNode(node, graph, dependencies, count, kernel);
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    CUDA_KERNEL_NODE_PARAMS described{};
    const CUresult result = driver.GraphKernelNodeGetParams(node, &described);
    if (result == CUDA_SUCCESS) *parameters = ReadKernelNode(driver, described);
    return result;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(
    cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return WithKernelNode(parameters, [&](const Driver& driver,
                                        const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return driver.GraphKernelNodeSetParams(node, kernel);
  });
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to,
                                              cudaGraphNode_t from) {
  return CallInContext(&Driver::GraphKernelNodeCopyAttributes, to, from);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node,
                                            cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  return CallInContext(&Driver::GraphKernelNodeGetAttribute, node,
                       static_cast<CUkernelNodeAttrID>(attribute),
                       As<CUkernelNodeAttrValue>(value));
}

cudaError_t cudaGraphKernelNodeSetAttribute(
    cudaGraphNode_t node, cudaLaunchAttributeID attribute,
    const cudaLaunchAttributeValue* value) {
  return CallInContext(&Driver::GraphKernelNodeSetAttribute, node,
                       static_cast<CUkernelNodeAttrID>(attribute),
                       As<const CUkernelNodeAttrValue>(value));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* box) {
  return AddCopy(node, graph, dependencies, count, Box(box));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies,
                                     size_t count, void* to, const void* from,
                                     size_t size, cudaMemcpyKind kind) {
  return AddCopy(node, graph, dependencies, count, Bytes(to, from, size, kind));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node,
                                           cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies,
                                           size_t count, const void* symbol,
                                           const void* from, size_t size,
                                           size_t offset, cudaMemcpyKind kind) {
  return AddCopy(node, graph, dependencies, count,
                 ToVariable(symbol, from, size, offset, kind));
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(
    cudaGraphNode_t* node, cudaGraph_t graph,
    const cudaGraphNode_t* dependencies, size_t count, void* to,
    const void* symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
  return AddCopy(node, graph, dependencies, count,
                 FromVariable(to, symbol, size, offset, kind));
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                         cudaMemcpy3DParms* box) {
  if (box == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D described{};
    const CUresult result = driver.GraphMemcpyNodeGetParams(node, &described);
    return result != CUDA_SUCCESS ? Translate(result)
                                  : ReadBox(driver, described, box);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* box) {
  return SetCopy(node, Box(box));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to,
                                           const void* from, size_t size,
                                           cudaMemcpyKind kind) {
  return SetCopy(node, Bytes(to, from, size, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                 const void* symbol,
                                                 const void* from, size_t size,
                                                 size_t offset,
                                                 cudaMemcpyKind kind) {
  return SetCopy(node, ToVariable(symbol, from, size, offset, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node,
                                                   void* to, const void* symbol,
                                                   size_t size, size_t offset,
                                                   cudaMemcpyKind kind) {
  return SetCopy(node, FromVariable(to, symbol, size, offset, kind));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* fill) {
  return WithContext([&](const Driver& driver, CUcontext context) {
    return driver.GraphAddMemsetNode(node, graph, dependencies, count,
                                     FillOf(fill), context);
  });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                         cudaMemsetParams* fill) {
  return CallInContext(&Driver::GraphMemsetNodeGetParams, node,
                       As<CUDA_MEMSET_NODE_PARAMS>(fill));
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemsetParams* fill) {
  return CallInContext(&Driver::GraphMemsetNodeSetParams, node, FillOf(fill));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies,
                                 size_t count,
                                 const cudaHostNodeParams* function) {
  return CallInContext(&Driver::GraphAddHostNode, node, graph, dependencies,
                       count, FunctionOf(function));
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                       cudaHostNodeParams* function) {
  return CallInContext(&Driver::GraphHostNodeGetParams, node,
                       As<CUDA_HOST_NODE_PARAMS>(function));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                       const cudaHostNodeParams* function) {
  return CallInContext(&Driver::GraphHostNodeSetParams, node,
                       FunctionOf(function));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  return CallInContext(&Driver::GraphAddChildGraphNode, node, graph,
                       dependencies, count, child);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node,
                                            cudaGraph_t* graph) {
  return CallInContext(&Driver::GraphChildGraphNodeGetGraph, node, graph);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies,
                                  size_t count) {
  return CallInContext(&Driver::GraphAddEmptyNode, node, graph, dependencies,
                       count);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node,
                                        cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies,
                                        size_t count, cudaEvent_t event) {
  return CallInContext(&Driver::GraphAddEventRecordNode, node, graph,
                       dependencies, count, event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node,
                                             cudaEvent_t* event) {
  return CallInContext(&Driver::GraphEventRecordNodeGetEvent, node, event);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node,
                                             cudaEvent_t event) {
  return CallInContext(&Driver::GraphEventRecordNodeSetEvent, node, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies,
                                      size_t count, cudaEvent_t event) {
  return CallInContext(&Driver::GraphAddEventWaitNode, node, graph,
                       dependencies, count, event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node,
                                           cudaEvent_t* event) {
  return CallInContext(&Driver::GraphEventWaitNodeGetEvent, node, event);
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node,
                                           cudaEvent_t event) {
  return CallInContext(&Driver::GraphEventWaitNodeSetEvent, node, event);
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies,
                                     size_t count,
                                     cudaMemAllocNodeParams* allocation) {
  return CallInContext(&Driver::GraphAddMemAllocNode, node, graph, dependencies,
                       count, As<CUDA_MEM_ALLOC_NODE_PARAMS>(allocation));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           cudaMemAllocNodeParams* allocation) {
  return CallInContext(&Driver::GraphMemAllocNodeGetParams, node,
                       As<CUDA_MEM_ALLOC_NODE_PARAMS>(allocation));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies,
                                    size_t count, void* pointer) {
  return CallInContext(&Driver::GraphAddMemFreeNode, node, graph, dependencies,
                       count, Address(pointer));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return CallInContext(&Driver::GraphMemFreeNodeGetParams, node,
                       static_cast<CUdeviceptr*>(pointer));
}

}  // extern "C"
