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

#include "core/software/driver/driver.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// The nodes that the next one of a stream will depend on. By their handles,
// since the application may destroy nodes meanwhile.
struct CaptureEdge {
  CUgraphNode node = nullptr;
  CUgraphEdgeData data{};
};
using CaptureEdges = std::vector<CaptureEdge>;
// Adds edges whose nodes are not among *to.
void MergeEdges(const CaptureEdges& from, CaptureEdges* to);

// One capture, with all streams that have joined it.
struct Capture {
  std::shared_ptr<Graph> graph;
  bool into_existing = false;      // cuStreamBeginCaptureToGraph
  const Stream* origin = nullptr;  // to compare with; see AbandonCapture
  uint64_t context_id = 0;         // of the origin
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint64_t id = 0;
  bool invalidated = false;
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

// The mode of the calling thread (cuThreadExchangeStreamCaptureMode).
CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode);

// Whether a stream's context has a blocking stream that captures, so that its
// default stream cannot be used.
bool CapturesImplicitly(Driver& driver, const Stream& legacy);

// Invalidates the captures that a stream of the context takes part in. Returns
// false if there is none.
bool Invalidate(Driver& driver, const Context& context);

CUresult BeginCapture(Driver& driver, const std::shared_ptr<Stream>& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode);
// *graph is the captured graph; null if the capture was invalid.
CUresult EndCapture(Driver& driver, Stream& stream, CUgraph* graph);

// For a stream that is destroyed: the capture that began with it ends without a
// graph. Another capture goes on, and the stream's work has to be joined.
void AbandonCapture(Driver& driver, Stream& stream);
// The same for the streams of a context that has ended.
void AbandonCaptures(Driver& driver, uint64_t context_id);

// Adds a node behind what the stream has captured.
CUresult AddCaptured(Driver& driver, Stream& stream, NodeParameters parameters);

// The stream waits for a point of a capture, and joins it if it does not
// capture yet.
CUresult JoinCapture(Driver& driver, const std::shared_ptr<Stream>& stream,
                     const EventCapture& event);

// For a call that no capture may see. Returns CUDA_SUCCESS if the calling
// thread may make it; otherwise invalidates the captures in its way.
CUresult CheckUnsafeCall(Driver& driver);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CAPTURE_H_
