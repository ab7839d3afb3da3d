// SPDX-License-Identifier: Apache-2.0
//
// Streams that are captured into graphs: their work becomes nodes and is not
// submitted. Guarded by the lock of all definitions (GraphTable::mutex).
//
// The captures of the client library (client/cpp/graph/stream_capture.h) end
// with a definition. CUDA's programs look at the graph while it grows, and have
// errors of their own, so that captures are made here.
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
#include "cuda.h"

namespace holdfast::libcuda {

// Nodes that the next node of a stream comes after. They are named by handles,
// since the program may destroy nodes meanwhile.
struct CaptureEdge {
  CUgraphNode node = nullptr;
  CUgraphEdgeData data{};
};
using CaptureEdges = std::vector<CaptureEdge>;

// Adds the edges whose nodes *to does not have.
void MergeEdges(const CaptureEdges& from, CaptureEdges* to);

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
  // The last work of streams that were destroyed meanwhile.
  CaptureEdges ends;
};

// The state of a stream that captures.
struct StreamCapture {
  std::shared_ptr<Capture> capture;
  CaptureEdges edges;
  // The program reads them after cuStreamGetCaptureInfo.
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
};

// The point of a capture at which an event was recorded last.
struct EventCapture {
  std::weak_ptr<Capture> capture;
  CaptureEdges edges;
};

// The mode of the calling thread.
CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode);

// Does a blocking stream of the default stream's context capture? The default
// stream cannot be used then.
bool CapturesImplicitly(Process& process, const Stream& legacy);

// `graph` is null for a new one.
CUresult BeginCapture(Process& process, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode);
// *graph is null after an error.
CUresult EndCapture(Process& process, Stream& stream, CUgraph* graph);

// The calls below take the lock themselves, unless nothing is captured.

// Makes a node of `make`'s work if the stream captures. True: *result is the
// result of the call, which must submit nothing. An error of `make` that is
// CUDA_ERROR_STREAM_CAPTURE_... invalidates the capture.
bool IsCaptured(Process& process, Stream& stream, CUresult* result,
                absl::FunctionRef<CUresult(NodeWork*)> make);
// The same for an event without the flags of external events, which are points
// of a capture: records one, and waits for one.
bool IsRecordCaptured(Process& process, Stream& stream, ProgramEvent& event,
                      CUresult* result);
bool IsWaitCaptured(Process& process, Stream& stream, const ProgramEvent& event,
                    CUresult* result);
// Is the event a point of a capture? Nothing can ask it then; invalidates the
// capture.
bool IsPointOfCapture(Process& process, const ProgramEvent& event);
// For a stream that is destroyed: the capture that began with it ends without a
// graph. Another capture goes on, and the stream's work has to be joined.
void AbandonCapture(Process& process, Stream& stream);
// For calls that wait for all streams of a context, and for calls that CUDA
// calls unsafe: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures in
// their way are invalidated.
CUresult CheckContextCall(Process& process, const Context& context);
CUresult CheckUnsafeCall(Process& process);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_CAPTURE_H_
