// SPDX-License-Identifier: Apache-2.0
//
// Entry points: captures of streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  return CallInContext(&Driver::StreamBeginCapture, stream,
                       static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(
    cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
    const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode) {
  return CallInContext(&Driver::StreamBeginCaptureToGraph, stream, graph,
                       dependencies, As<const CUgraphEdgeData>(edges), count,
                       static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return CallInContext(&Driver::StreamEndCapture, stream, graph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus* status) {
  return CallInContext(&Driver::StreamIsCapturing, stream,
                       As<CUstreamCaptureStatus>(status));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return CallInContext(&Driver::StreamGetCaptureInfo, stream,
                       As<CUstreamCaptureStatus>(status), As<cuuint64_t>(id),
                       graph, dependencies, As<const CUgraphEdgeData*>(edges),
                       count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges,
                                                size_t count, unsigned flags) {
  return CallInContext(&Driver::StreamUpdateCaptureDependencies, stream,
                       dependencies, As<const CUgraphEdgeData>(edges), count,
                       flags);
}

}  // extern "C"
