// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/capture.h"

#include <algorithm>
#include <utility>

namespace holdfast::libcuda {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool IsAnythingCaptured(const Process& process) {
  return process.graphs.capturing.load(std::memory_order_relaxed) != 0;
}

bool IsOf(const Stream& stream, const Context& context) {
  const std::shared_ptr<Context> owner = stream.context();
  return owner != nullptr && owner->id() == context.id();
}

// The capture's streams submit their work again.
void Leave(Process& process, const std::shared_ptr<Capture>& capture) {
  for (const std::weak_ptr<Stream>& weak : capture->streams) {
    if (const auto stream = weak.lock()) stream->capture = nullptr;
  }
  std::erase(process.graphs.captures, capture);
  process.graphs.capturing = process.graphs.captures.size();
}

// Ends a capture without a graph.
void Drop(Process& process, const std::shared_ptr<Capture>& capture) {
  Leave(process, capture);
  if (!capture->is_into_graph) capture->graph->Withdraw();
}

// The captures that go on. One whose first stream has gone, with its context,
// has ended.
std::vector<std::shared_ptr<Capture>> LiveCaptures(Process& process) {
  std::vector<std::shared_ptr<Capture>> live;
  for (const auto& capture : std::vector(process.graphs.captures)) {
    if (capture->origin.expired()) {
      Drop(process, capture);
    } else {
      live.push_back(capture);
    }
  }
  return live;
}

bool Includes(const Capture& capture, const Context& context,
              bool only_blocking) {
  return std::any_of(capture.streams.begin(), capture.streams.end(),
                     [&](const std::weak_ptr<Stream>& weak) {
                       const std::shared_ptr<Stream> stream = weak.lock();
                       return stream != nullptr && IsOf(*stream, context) &&
                              (stream->is_blocking() || !only_blocking);
                     });
}

bool Invalidate(Process& process, const Context& context, bool only_blocking) {
  bool found = false;
  for (const auto& capture : LiveCaptures(process)) {
    if (!Includes(*capture, context, only_blocking)) continue;
    capture->is_invalidated = found = true;
  }
  return found;
}

// Is `stream` the legacy stream of a context in which a blocking stream
// captures? Invalidates those captures.
bool IsRefused(Process& process, const Stream& stream) {
  const std::shared_ptr<Context> context = stream.context();
  return stream.kind() == Stream::Kind::kLegacy && context != nullptr &&
         Invalidate(process, *context, /*only_blocking=*/true);
}

bool BreaksCapture(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

CUresult AddNode(Process& process, StreamCapture& own, NodeWork work) {
  if (own.capture->graph->has_ended()) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  Node* node = nullptr;
  const CUresult result = own.capture->graph->AddNode(
      std::move(work), cuda::FindNodes<Edge>(process.graphs.nodes, own.edges),
      &node);
  if (result == CUDA_SUCCESS) own.edges = {{node->handle, {}}};
  return result;
}

CUresult Join(Stream& stream, const std::shared_ptr<Capture>& capture,
              const CaptureEdges& edges) {
  if (capture->is_invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.kind() == Stream::Kind::kLegacy) {
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream.capture == nullptr) {
    stream.capture = std::make_shared<StreamCapture>();
    stream.capture->capture = capture;
    capture->streams.push_back(stream.weak_from_this());
  } else if (stream.capture->capture != capture) {
    stream.capture->capture->is_invalidated = true;
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  cuda::MergeEdges(edges, &stream.capture->edges);
  return CUDA_SUCCESS;
}

}  // namespace

CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

bool CapturesImplicitly(Process& process, const Stream& legacy) {
  const std::shared_ptr<Context> context = legacy.context();
  const auto captures = LiveCaptures(process);
  return context != nullptr &&
         std::any_of(captures.begin(), captures.end(),
                     [&](const std::shared_ptr<Capture>& capture) {
                       return Includes(*capture, *context,
                                       /*only_blocking=*/true);
                     });
}

CUresult BeginCapture(Process& process, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode) {
  if (stream.kind() == Stream::Kind::kLegacy) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  LiveCaptures(process);
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  static uint64_t last_id = 0;
  auto capture = std::make_shared<Capture>();
  capture->is_into_graph = graph != nullptr;
  if (graph == nullptr) {
    graph = std::make_shared<Graph>(&process.graphs);
    Graph::Publish(process.graphs, graph);
  }
  capture->graph = std::move(graph);
  capture->origin = stream.weak_from_this();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last_id;
  capture->streams.push_back(stream.weak_from_this());
  stream.capture = std::make_shared<StreamCapture>();
  stream.capture->capture = capture;
  stream.capture->edges = std::move(edges);
  process.graphs.captures.push_back(std::move(capture));
  process.graphs.capturing = process.graphs.captures.size();
  return CUDA_SUCCESS;
}

CUresult EndCapture(Process& process, Stream& stream, CUgraph* graph) {
  if (graph != nullptr) *graph = nullptr;
  LiveCaptures(process);
  const std::shared_ptr<StreamCapture> own = stream.capture;
  if (own == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = own->capture;
  if (capture->origin.lock().get() != &stream) {
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    // That ends the capture as well, without its graph.
    Drop(process, capture);
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool is_joined =
      cuda::AreAllJoined<Edge>(process.graphs.nodes, *capture, *own);
  if (capture->is_invalidated || !is_joined) {
    Drop(process, capture);
    return capture->is_invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                   : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  if (graph == nullptr && !capture->is_into_graph) {
    Drop(process, capture);
    return CUDA_SUCCESS;
  }
  Leave(process, capture);
  if (graph != nullptr) *graph = capture->graph->handle();
  return CUDA_SUCCESS;
}

bool IsCaptured(Process& process, Stream& stream, CUresult* result,
                absl::FunctionRef<CUresult(NodeWork*)> make) {
  if (!IsAnythingCaptured(process)) return false;
  const DefinitionsLock lock(process.graphs);
  LiveCaptures(process);
  if (IsRefused(process, stream)) {
    *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return true;
  }
  if (stream.capture == nullptr) return false;
  Capture& capture = *stream.capture->capture;
  *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture.is_invalidated) return true;
  NodeWork work;
  *result = make(&work);
  if (*result == CUDA_SUCCESS) {
    *result = AddNode(process, *stream.capture, std::move(work));
  }
  capture.is_invalidated |= BreaksCapture(*result);
  return true;
}

bool IsRecordCaptured(Process& process, Stream& stream, ProgramEvent& event,
                      CUresult* result) {
  if (!IsAnythingCaptured(process)) return false;
  const DefinitionsLock lock(process.graphs);
  LiveCaptures(process);
  event.capture = nullptr;
  if (IsRefused(process, stream)) {
    *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return true;
  }
  if (stream.capture == nullptr) return false;
  *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture->capture->is_invalidated) return true;
  event.capture = std::make_shared<EventCapture>();
  event.capture->capture = stream.capture->capture;
  event.capture->edges = stream.capture->edges;
  *result = CUDA_SUCCESS;
  return true;
}

bool IsWaitCaptured(Process& process, Stream& stream, const ProgramEvent& event,
                    CUresult* result) {
  if (!IsAnythingCaptured(process)) return false;
  {
    const DefinitionsLock lock(process.graphs);
    LiveCaptures(process);
    const std::shared_ptr<Capture> capture =
        event.capture == nullptr ? nullptr : event.capture->capture.lock();
    if (capture != nullptr) {
      *result = Join(stream, capture, event.capture->edges);
      return true;
    }
  }
  return IsCaptured(process, stream, result, [](NodeWork*) {
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  });
}

void BreakCapture(Process& process, Stream& stream) {
  if (!IsAnythingCaptured(process)) return;
  const DefinitionsLock lock(process.graphs);
  if (stream.capture != nullptr) stream.capture->capture->is_invalidated = true;
}

bool IsPointOfCapture(Process& process, const ProgramEvent& event) {
  if (!IsAnythingCaptured(process)) return false;
  const DefinitionsLock lock(process.graphs);
  const std::shared_ptr<Capture> capture =
      event.capture == nullptr ? nullptr : event.capture->capture.lock();
  if (capture == nullptr) return false;
  capture->is_invalidated = true;
  return true;
}

void AbandonCapture(Process& process, Stream& stream) {
  if (!IsAnythingCaptured(process)) return;
  const DefinitionsLock lock(process.graphs);
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  cuda::MergeEdges(stream.capture->edges, &capture->ends);
  if (capture->origin.lock().get() == &stream) Drop(process, capture);
  stream.capture = nullptr;
}

CUresult CheckContextCall(Process& process, const Context& context) {
  if (!IsAnythingCaptured(process)) return CUDA_SUCCESS;
  const DefinitionsLock lock(process.graphs);
  return Invalidate(process, context, /*only_blocking=*/false)
             ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
             : CUDA_SUCCESS;
}

CUresult CheckUnsafeCall(Process& process) {
  if (!IsAnythingCaptured(process) ||
      thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_SUCCESS;
  }
  const DefinitionsLock lock(process.graphs);
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : LiveCaptures(process)) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool is_global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                           thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        !(is_own || is_global)) {
      continue;
    }
    capture->is_invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

}  // namespace holdfast::libcuda
