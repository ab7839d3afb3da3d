// SPDX-License-Identifier: Apache-2.0
//
// Capture: streams that build a graph instead of working. Everything here is
// guarded by the lock of definitions (GraphHandles::mutex).
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
  const Stream* origin = nullptr;  // only compared; see AbandonCapture
  uint64_t context_id = 0;         // of the origin
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint64_t id = 0;
  bool is_invalidated = false;
  std::vector<std::weak_ptr<Stream>> streams;
  // The last work of streams that were destroyed meanwhile.
  CaptureEdges ends;
};

// The state of a stream that captures.
struct StreamCapture {
  std::shared_ptr<Capture> capture;
  CaptureEdges edges;
  // Lent to the application by cuStreamGetCaptureInfo.
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

// Returns true if a blocking stream of the context of `legacy` captures, so
// that `legacy`, its default stream, cannot be used.
bool CapturesImplicitly(Driver& driver, const Stream& legacy);

// Invalidates the captures that a stream of the context takes part in. Returns
// false if there is none.
bool Invalidate(Driver& driver, const Context& context);

CUresult BeginCapture(Driver& driver, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode);
// Ends the capture that began with `stream`. *graph is the captured graph; null
// on an error. CUDA_ERROR_INVALID_VALUE: `graph` is null, and the capture made
// its graph.
CUresult EndCapture(Driver& driver, Stream& stream, CUgraph* graph);

// Called when a stream is destroyed. Ends the capture that began with the
// stream, without a graph. Another capture continues, and the stream's work
// must still be joined.
void AbandonCapture(Driver& driver, Stream& stream);
// Called when a context has ended. Ends the captures that began with its
// streams, without a graph.
void AbandonCaptures(Driver& driver, uint64_t context_id);

// Adds a node that depends on the last nodes captured by the stream.
CUresult AddCaptured(Driver& driver, Stream& stream, NodeWork work);

// Makes the stream wait for a point of a capture. A stream that does not
// capture yet joins the capture.
CUresult JoinCapture(Driver& driver, const std::shared_ptr<Stream>& stream,
                     const EventCapture& event);

// Checks a call that is unsafe during captures. Returns CUDA_SUCCESS if the
// calling thread may make it. Otherwise invalidates the captures that forbid
// it, and returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
CUresult CheckUnsafeCall(Driver& driver);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CAPTURE_H_
