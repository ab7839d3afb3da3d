// SPDX-License-Identifier: Apache-2.0
//
// Functions about graphs as CUDA 10 to 12 first had them. cuda.h no longer
// declares these, and gives their names to later versions: behind this header a
// name without a version is the first one, as it is in the library.
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

// With a text for the reason, which CUDA 12 replaced by flags.
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* failed, char* log, size_t log_size);
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                               CUgraphNode* failed, char* log, size_t log_size);
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* failed,
                           CUgraphExecUpdateResult* reason);

// Kernels that are functions of modules.
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

// Edges without data.
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
