// SPDX-License-Identifier: Apache-2.0
//
// Entry points: functions about graphs as CUDA 10 to 12 had them, each by the
// version that took its place.
#include "core/cuda/graph_versions.h"

namespace {

CUDA_KERNEL_NODE_PARAMS_v2 Widen(const CUDA_KERNEL_NODE_PARAMS_v1& from) {
  CUDA_KERNEL_NODE_PARAMS_v2 to{};
  to.func = from.func;
  to.gridDimX = from.gridDimX;
  to.gridDimY = from.gridDimY;
  to.gridDimZ = from.gridDimZ;
  to.blockDimX = from.blockDimX;
  to.blockDimY = from.blockDimY;
  to.blockDimZ = from.blockDimZ;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

CUDA_KERNEL_NODE_PARAMS_v1 Narrow(const CUDA_KERNEL_NODE_PARAMS_v2& from) {
  CUDA_KERNEL_NODE_PARAMS_v1 to{};
  to.func = from.func;
  to.gridDimX = from.gridDimX;
  to.gridDimY = from.gridDimY;
  to.gridDimZ = from.gridDimZ;
  to.blockDimX = from.blockDimX;
  to.blockDimY = from.blockDimY;
  to.blockDimZ = from.blockDimZ;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

}  // namespace

extern "C" {

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* failed, char* log, size_t log_size) {
  return cuGraphInstantiate_v2(exec, graph, failed, log, log_size);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                               CUgraphNode* failed, char* log,
                               size_t log_size) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  const CUresult result =
      cuGraphInstantiateWithParams(exec, graph, &parameters);
  // CUDA 13 tells neither a node nor a text here, even of a cycle.
  if (failed != nullptr) *failed = nullptr;
  if (log != nullptr && log_size > 0) *log = '\0';
  return result;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* failed,
                           CUgraphExecUpdateResult* reason) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);
  // CUDA 13 has another reason here where there are more nodes or fewer.
  if (info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED &&
      info.errorNode == nullptr) {
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  if (failed != nullptr) *failed = info.errorNode;
  if (reason != nullptr) *reason = info.result;
  return result;
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = Widen(*parameters);
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &wide);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                    CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS_v2 wide{};
  const CUresult result = cuGraphKernelNodeGetParams_v2(node, &wide);
  if (result == CUDA_SUCCESS) *parameters = Narrow(wide);
  return result;
}

CUresult cuGraphKernelNodeSetParams(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = Widen(*parameters);
  return cuGraphKernelNodeSetParams_v2(node, &wide);
}

CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 wide = Widen(*parameters);
  return cuGraphExecKernelNodeSetParams_v2(exec, node, &wide);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                         size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, /*edgeData=*/nullptr, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies,
                                    size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, dependencies, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents,
                                      size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, dependents, nullptr, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph,
                        const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* parameters) {
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count,
                           parameters);
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                cuuint64_t* id) {
  return cuStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr,
                                   nullptr);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies,
                                   size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies,
                                   /*edgeData_out=*/nullptr, count);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream,
                                           CUgraphNode* dependencies,
                                           size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr,
                                              count, flags);
}

}  // extern "C"
