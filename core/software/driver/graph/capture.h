// SPDX-License-Identifier: Apache-2.0
//
// Stream capture: calls on a captured stream add nodes to a graph instead of
// enqueuing work. The lock of graph definitions (GraphHandles::mutex) guards
// everything here; callers of these functions hold it, except for
// ExchangeCaptureMode.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CAPTURE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/cuda/capture_edges.h"
#include "core/software/driver/driver.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

using cuda::CaptureEdges;

// One capture, with all streams that have joined it.
struct Capture {
  std::shared_ptr<Graph> graph;
  bool into_existing = false;      // cuStreamBeginCaptureToGraph
  const Stream* origin = nullptr;  // only compared, never dereferenced
  uint64_t context_id = 0;         // of the origin
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint64_t id = 0;
  bool is_invalidated = false;
  std::vector<std::weak_ptr<Stream>> streams;
  // The last nodes of streams that were destroyed during the capture.
  CaptureEdges ends;
};

// The state of a captured stream.
struct StreamCapture {
  std::shared_ptr<Capture> capture;
  CaptureEdges edges;  // the dependencies of the stream's next node
  // The arrays that cuStreamGetCaptureInfo lends to the application.
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
};

// The point in a capture at which an event was recorded last.
struct EventCapture {
  std::weak_ptr<Capture> capture;
  CaptureEdges edges;
};

// Sets the mode of the calling thread (cuThreadExchangeStreamCaptureMode), and
// returns the previous mode.
CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode);

// Returns true if a blocking stream of the same context as `legacy` is
// captured, so that `legacy`, the context's legacy default stream, cannot be
// used.
bool CapturesImplicitly(Driver& driver, const Stream& legacy);

// Invalidates all captures that include a stream of the context. Returns false
// if there is no such capture.
bool Invalidate(Driver& driver, const Context& context);

// Begins a capture of the stream. `graph` is the graph to which nodes are
// added; null: the capture makes a graph. `edges` are the dependencies of the
// first node. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: the stream is the legacy
// default stream. CUDA_ERROR_ILLEGAL_STATE: the stream is captured already.
CUresult BeginCapture(Driver& driver, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode);

// Ends the capture that began with `stream`. Sets *graph to the captured graph,
// or to null on an error. `graph` may be null: a graph that the capture made is
// then destroyed. CUDA_ERROR_ILLEGAL_STATE: the stream is not captured.
// CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: the capture began with another stream,
// and is now invalidated. Other errors end the capture without a graph:
// CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, _INVALIDATED and _UNJOINED.
CUresult EndCapture(Driver& driver, Stream& stream, CUgraph* graph);

// Removes a stream that is destroyed from its capture. If the capture began
// with the stream, ends it without a graph. Any other capture continues, and
// its origin must still join the work of the stream.
void AbandonCapture(Driver& driver, Stream& stream);
// Ends the captures that began with streams of a context that has ended,
// without a graph.
void AbandonCaptures(Driver& driver, uint64_t context_id);

// Adds a node to the stream's capture. The node depends on the last nodes that
// were captured from the stream. Fails as Graph::AddNode does. REQUIRES: the
// stream is captured.
CUresult AddCaptured(Driver& driver, Stream& stream, NodeWork work);

// Makes the stream wait for a point of a capture, so that its next node depends
// on the point. A stream that is not captured joins the capture.
// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: the capture is invalidated.
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: the stream is the legacy default stream.
// CUDA_ERROR_STREAM_CAPTURE_MERGE: the stream is in another capture. The last
// two errors invalidate the captures. REQUIRES: event.capture has not ended.
CUresult JoinCapture(Driver& driver, const std::shared_ptr<Stream>& stream,
                     const EventCapture& event);

// Checks a call that is unsafe during captures. Returns CUDA_SUCCESS if no
// capture forbids the call to the calling thread. Otherwise invalidates the
// captures that forbid it, and returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
CUresult CheckUnsafeCall(Driver& driver);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CAPTURE_H_
