// SPDX-License-Identifier: Apache-2.0
//
// Declares the versions of graph functions that CUDA 10 to 12 had. cuda.h maps
// each unversioned name to its latest version; this header removes those
// macros, so that the name means the first version, as in libcuda.so.1.
#ifndef HOLDFAST_CORE_CUDA_GRAPH_VERSIONS_H_
#define HOLDFAST_CORE_CUDA_GRAPH_VERSIONS_H_

#include "cuda.h"

#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeGetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphAddNode
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies

extern "C" {

// Before CUDA 12, cuGraphInstantiate wrote a log and took no flags, and
// cuGraphExecUpdate returned the failed node and the result apart.
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* failed, char* log, size_t log_size);
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                               CUgraphNode* failed, char* log, size_t log_size);
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* failed,
                           CUgraphExecUpdateResult* reason);

// Before CUDA 12, these functions took a kernel only as a CUfunction.
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* parameters);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                    CUDA_KERNEL_NODE_PARAMS_v1* parameters);
CUresult cuGraphKernelNodeSetParams(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters);
CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_KERNEL_NODE_PARAMS_v1* parameters);

// These versions have no data of edges, and cuStreamBeginCapture has no mode.
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                         size_t* count);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies,
                                    size_t* count);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents,
                                      size_t* count);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, size_t count);
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to, size_t count);
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph,
                        const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* parameters);

CUresult cuStreamBeginCapture(CUstream stream);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                cuuint64_t* id);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies,
                                   size_t* count);
CUresult cuStreamUpdateCaptureDependencies(CUstream stream,
                                           CUgraphNode* dependencies,
                                           size_t count, unsigned flags);

}  // extern "C"

#endif  // HOLDFAST_CORE_CUDA_GRAPH_VERSIONS_H_
