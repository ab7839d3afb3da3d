// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that are captured into graphs.
#include "client/cuda/graph/capture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

// body(Process&, Stream&), with the lock of definitions.
template <typename Body>
CUresult WithCapturable(CUstream handle, Body body) {
  return WithStream(handle, [&](Process& process, Stream& stream) -> CUresult {
    const DefinitionsLock lock(process.graphs);
    return body(process, stream);
  });
}

// The same for a question, which a default stream cannot answer while it would
// order a stream that captures.
template <typename Body>
CUresult WithAsked(CUstream handle, Body body) {
  return WithCapturable(handle, [&](Process& process, Stream& stream) {
    return stream.kind() == Stream::Kind::kLegacy &&
                   CapturesImplicitly(process, stream)
               ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
               : body(process, stream);
  });
}

bool IsMode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
         mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUstreamCaptureStatus StatusOf(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->capture->is_invalidated
             ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// Nodes of the graph, as edges to the next node.
CUresult ReadEdges(Process& process, const Graph& graph,
                   const CUgraphNode* nodes, const CUgraphEdgeData* data,
                   size_t count, CaptureEdges* edges) {
  std::vector<Edge> found;
  if (!FindEdges(process, nodes, data, count, &found)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const Edge& edge : found) {
    if (edge.node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    edges->push_back({edge.node->handle, edge.data});
  }
  return CUDA_SUCCESS;
}

// Fills the lists that the program may read.
void ListEdges(StreamCapture& own) {
  own.nodes.clear();
  own.data.clear();
  for (const CaptureEdge& edge : own.edges) {
    own.nodes.push_back(edge.node);
    own.data.push_back(edge.data);
  }
}

bool AreAllPlain(const CaptureEdges& edges) {
  return std::all_of(edges.begin(), edges.end(), [](const CaptureEdge& edge) {
    return IsPlain(edge.data);
  });
}

template <typename Value>
void Store(Value* place, Value value) {
  if (place != nullptr) *place = value;
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return WithCapturable(handle, [&](Process& process, Stream& stream) {
    return IsMode(mode) ? BeginCapture(process, stream, nullptr, {}, mode)
                        : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
                                     const CUgraphNode* nodes,
                                     const CUgraphEdgeData* data, size_t count,
                                     CUstreamCaptureMode mode) {
  return WithCapturable(handle, [&](Process& process, Stream& stream) {
    std::shared_ptr<Graph> graph = process.graphs.graphs.Find(graph_handle);
    if (graph == nullptr || !IsMode(mode)) return CUDA_ERROR_INVALID_VALUE;
    CaptureEdges edges;
    const CUresult result =
        ReadEdges(process, *graph, nodes, data, count, &edges);
    return result != CUDA_SUCCESS
               ? result
               : BeginCapture(process, stream, std::move(graph),
                              std::move(edges), mode);
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return WithCapturable(handle, [&](Process& process, Stream& stream) {
    return EndCapture(process, stream, graph);
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return WithAsked(handle, [&](Process&, Stream& stream) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = StatusOf(stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes,
                                   const CUgraphEdgeData** data,
                                   size_t* count) {
  return WithAsked(handle, [&](Process&, Stream& stream) {
    if (status == nullptr || (nodes == nullptr && data != nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *status = StatusOf(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    StreamCapture& own = *stream.capture;
    if (nodes != nullptr && data == nullptr && !AreAllPlain(own.edges)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    ListEdges(own);
    Store(id, cuuint64_t{own.capture->id});
    Store(graph, own.capture->graph->handle());
    if (nodes != nullptr) *nodes = own.nodes.data();
    if (data != nullptr) *data = own.data.data();
    Store(count, own.nodes.size());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle,
                                              CUgraphNode* nodes,
                                              const CUgraphEdgeData* data,
                                              size_t count, unsigned flags) {
  return WithCapturable(handle, [&](Process& process, Stream& stream) {
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    StreamCapture& own = *stream.capture;
    if (own.capture->is_invalidated) {
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    CaptureEdges edges;
    const CUresult result =
        ReadEdges(process, *own.capture->graph, nodes, data, count, &edges);
    if (result != CUDA_SUCCESS) return result;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) own.edges.clear();
    MergeEdges(edges, &own.edges);
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return WithProcess([&](Process&) {
    if (mode == nullptr || !IsMode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    *mode = ExchangeCaptureMode(*mode);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
