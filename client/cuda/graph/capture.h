// SPDX-License-Identifier: Apache-2.0
//
// Streams that are captured into graphs: their work becomes nodes and is not
// submitted. Guarded by the lock of all definitions (GraphTable::mutex).
//
// This file does not use the captures of the client library
// (client/cpp/graph/stream_capture.h), which return a definition at their end:
// a CUDA program can read the graph during a capture, and expects CUDA's
// errors.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_CAPTURE_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/cuda/context.h"
#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/node.h"
#include "client/cuda/process.h"
#include "core/cuda/capture_edges.h"
#include "cuda.h"

namespace holdfast::libcuda {

using cuda::CaptureEdges;

// One capture, and the streams that take part in it.
struct Capture {
  std::shared_ptr<Graph> graph;
  bool is_into_graph = false;  // cuStreamBeginCaptureToGraph
  std::weak_ptr<Stream> origin;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint64_t id = 0;
  bool is_invalidated = false;
  std::vector<std::weak_ptr<Stream>> streams;
  // The last nodes of streams that were destroyed during the capture.
  CaptureEdges ends;
};

// The state of a stream that captures.
struct StreamCapture {
  std::shared_ptr<Capture> capture;
  CaptureEdges edges;
  // The arrays that cuStreamGetCaptureInfo returned to the program.
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
};

// The point of a capture at which an event was recorded last.
struct EventCapture {
  std::weak_ptr<Capture> capture;
  CaptureEdges edges;
};

// Sets the calling thread's capture mode, and returns the previous mode.
CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode);

// Returns true if a blocking stream of the default stream's context captures.
// The default stream cannot be used then.
bool CapturesImplicitly(Process& process, const Stream& legacy);

// Begins a capture into `graph`, after its nodes `edges`; null: into a new
// graph. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: `stream` is the default stream.
// CUDA_ERROR_ILLEGAL_STATE: `stream` captures already.
CUresult BeginCapture(Process& process, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode);
// Ends the capture, and returns its graph in *graph; null after an error.
// CUDA_ERROR_INVALID_VALUE: `graph` is null, and the capture made its graph.
CUresult EndCapture(Process& process, Stream& stream, CUgraph* graph);

// The functions below take the lock of definitions, but only if a stream
// captures.

// If the stream captures, makes a node of the work that `make` returns. Returns
// true if the caller must submit nothing and return *result: the stream
// captures, or a capture forbids its use. An error
// CUDA_ERROR_STREAM_CAPTURE_... invalidates the capture.
bool IsCaptured(Process& process, Stream& stream, CUresult* result,
                absl::FunctionRef<CUresult(NodeWork*)> make);
// Record an event, or wait for an event, in a capture; used for calls without
// the flags of external events. A recorded event marks a point of the capture,
// and a stream that waits for this event joins the capture. Return true if the
// caller must submit nothing and return *result.
bool IsRecordCaptured(Process& process, Stream& stream, ProgramEvent& event,
                      CUresult* result);
bool IsWaitCaptured(Process& process, Stream& stream, const ProgramEvent& event,
                    CUresult* result);
// Returns true if the event is a point of a capture, and invalidates the
// capture: such an event cannot be queried or synchronized with.
bool IsPointOfCapture(Process& process, const ProgramEvent& event);
// Invalidates the stream's capture, if it captures.
void BreakCapture(Process& process, Stream& stream);
// Called when a stream is destroyed. A capture that began with this stream ends
// without a graph. Any other capture continues, and the stream's work must be
// joined before its end.
void AbandonCapture(Process& process, Stream& stream);
// Check a call that waits for all streams of a context, and a call that CUDA
// calls unsafe. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: a capture forbids the
// call; all such captures are then invalidated.
CUresult CheckContextCall(Process& process, const Context& context);
CUresult CheckUnsafeCall(Process& process);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_CAPTURE_H_
