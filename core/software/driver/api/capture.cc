// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that are captured into graphs.
#include "core/software/driver/graph/capture.h"

#include <algorithm>
#include <utility>

#include "core/software/base/mutex.h"
#include "core/software/driver/api/graph_call.h"

using namespace holdfast::software;

namespace {

// body(Driver&, const std::shared_ptr<Stream>&), with the lock of definitions.
template <typename Body>
CUresult WithCapturable(CUstream handle, Body body) {
  return WithStream(handle, [&](Driver& driver, Stream& stream) -> CUresult {
    const DefinitionsLock lock(driver.graphs);
    return body(driver, stream.shared_from_this());
  });
}

bool Valid(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL &&
         mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUstreamCaptureStatus StatusOf(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->capture->invalidated
             ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// Nodes of the graph, as edges to what comes next.
CUresult ReadEdges(Driver& driver, const Graph& graph, const CUgraphNode* nodes,
                   const CUgraphEdgeData* data, size_t count,
                   CaptureEdges* edges) {
  std::vector<GraphEdge> found;
  if (!FindDependencies(driver, nodes, data, count, &found)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const GraphEdge& edge : found) {
    if (edge.node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    edges->push_back({edge.node->handle, edge.data});
  }
  return CUDA_SUCCESS;
}

// Lends the application what the next node will depend on.
void Lend(StreamCapture& capture) {
  capture.nodes.clear();
  capture.data.clear();
  for (const CaptureEdge& edge : capture.edges) {
    capture.nodes.push_back(edge.node);
    capture.data.push_back(edge.data);
  }
}

bool HaveData(const CaptureEdges& edges) {
  return std::any_of(edges.begin(), edges.end(), [](const CaptureEdge& edge) {
    return !IsDefault(edge.data);
  });
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    return Valid(mode) ? BeginCapture(driver, stream, nullptr, {}, mode)
                       : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
                                     const CUgraphNode* nodes,
                                     const CUgraphEdgeData* data, size_t count,
                                     CUstreamCaptureMode mode) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    std::shared_ptr<Graph> graph = driver.graphs.graphs.Find(graph_handle);
    if (graph == nullptr || !Valid(mode)) return CUDA_ERROR_INVALID_VALUE;
    CaptureEdges edges;
    const CUresult result =
        ReadEdges(driver, *graph, nodes, data, count, &edges);
    return result != CUDA_SUCCESS
               ? result
               : BeginCapture(driver, stream, std::move(graph),
                              std::move(edges), mode);
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    return EndCapture(driver, *stream, graph);
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream->kind() == Stream::Kind::kLegacy &&
        CapturesImplicitly(driver, *stream)) {
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *status = StatusOf(*stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes,
                                   const CUgraphEdgeData** data,
                                   size_t* count) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    if (status == nullptr || (nodes == nullptr && data != nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->kind() == Stream::Kind::kLegacy &&
        CapturesImplicitly(driver, *stream)) {
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *status = StatusOf(*stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    StreamCapture& own = *stream->capture;
    if (nodes != nullptr && data == nullptr && HaveData(own.edges)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    Lend(own);
    if (id != nullptr) *id = own.capture->id;
    if (graph != nullptr) *graph = own.capture->graph->handle();
    if (nodes != nullptr) *nodes = own.nodes.data();
    if (data != nullptr) *data = own.data.data();
    if (count != nullptr) *count = own.nodes.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle,
                                              CUgraphNode* nodes,
                                              const CUgraphEdgeData* data,
                                              size_t count, unsigned flags) {
  return WithCapturable(handle, [&](Driver& driver, const auto& stream) {
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    StreamCapture& own = *stream->capture;
    if (own.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CaptureEdges edges;
    const CUresult result =
        ReadEdges(driver, *own.capture->graph, nodes, data, count, &edges);
    if (result != CUDA_SUCCESS) return result;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) own.edges.clear();
    MergeEdges(edges, &own.edges);
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return WithDriver([&](Driver&) {
    if (mode == nullptr || !Valid(*mode)) return CUDA_ERROR_INVALID_VALUE;
    *mode = ExchangeThreadMode(*mode);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
