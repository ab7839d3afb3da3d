// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/capture.h"

#include <algorithm>
#include <utility>

namespace holdfast::software {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

uint64_t last_capture_id = 0;

// Does a stream for which test(const Stream&) is true take part?
template <typename Test>
bool Includes(const Capture& capture, Test test) {
  return std::any_of(capture.streams.begin(), capture.streams.end(),
                     [&test](const std::weak_ptr<Stream>& weak) {
                       const std::shared_ptr<Stream> stream = weak.lock();
                       return stream != nullptr && test(*stream);
                     });
}

// Streams go back to work.
void Leave(Driver& driver, const std::shared_ptr<Capture>& capture) {
  for (const std::weak_ptr<Stream>& weak : capture->streams) {
    if (const std::shared_ptr<Stream> stream = weak.lock()) {
      stream->capture = nullptr;
    }
  }
  auto& captures = driver.graphs.captures;
  captures.erase(std::remove(captures.begin(), captures.end(), capture),
                 captures.end());
  driver.graphs.capturing = static_cast<int>(captures.size());
}

// Ends a capture without a graph.
void Drop(Driver& driver, const std::shared_ptr<Capture>& capture) {
  Leave(driver, capture);
  if (!capture->into_existing) capture->graph->Withdraw();
}

}  // namespace

CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

bool CapturesImplicitly(Driver& driver, const Stream& legacy) {
  const auto& captures = driver.graphs.captures;
  return std::any_of(
      captures.begin(), captures.end(), [&](const auto& capture) {
        return Includes(*capture, [&legacy](const Stream& stream) {
          return stream.kind() == Stream::Kind::kBlocking &&
                 &stream.context() == &legacy.context();
        });
      });
}

bool Invalidate(Driver& driver, const Context& context) {
  bool found = false;
  for (const std::shared_ptr<Capture>& capture : driver.graphs.captures) {
    if (!Includes(*capture, [&context](const Stream& stream) {
          return &stream.context() == &context;
        })) {
      continue;
    }
    capture->is_invalidated = found = true;
  }
  return found;
}

void AbandonCapture(Driver& driver, Stream& stream) {
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  cuda::MergeEdges(stream.capture->edges, &capture->ends);
  if (capture->origin == &stream) Drop(driver, capture);
  stream.capture = nullptr;
}

void AbandonCaptures(Driver& driver, uint64_t context_id) {
  for (const auto& capture : std::vector(driver.graphs.captures)) {
    if (capture->context_id == context_id) Drop(driver, capture);
  }
}

CUresult BeginCapture(Driver& driver, Stream& stream,
                      std::shared_ptr<Graph> graph, CaptureEdges edges,
                      CUstreamCaptureMode mode) {
  if (stream.kind() == Stream::Kind::kLegacy) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->into_existing = graph != nullptr;
  if (graph == nullptr) {
    graph = std::make_shared<Graph>(&driver.graphs);
    Publish(driver.graphs, graph);
  }
  capture->graph = std::move(graph);
  capture->origin = &stream;
  capture->context_id = stream.context().id();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last_capture_id;
  capture->streams.push_back(stream.shared_from_this());
  stream.capture = std::make_shared<StreamCapture>();
  stream.capture->capture = capture;
  stream.capture->edges = std::move(edges);
  driver.graphs.captures.push_back(std::move(capture));
  driver.graphs.capturing = static_cast<int>(driver.graphs.captures.size());
  return CUDA_SUCCESS;
}

CUresult EndCapture(Driver& driver, Stream& stream, CUgraph* graph) {
  if (graph != nullptr) *graph = nullptr;
  const std::shared_ptr<StreamCapture> own = stream.capture;
  if (own == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = own->capture;
  if (capture->origin != &stream) {
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  // Another thread's call ends a strict capture as well, without its graph.
  const bool wrong_thread = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                            capture->thread != std::this_thread::get_id();
  const bool joined =
      cuda::AreAllJoined<GraphEdge>(driver.graphs.nodes, *capture, *own);
  Leave(driver, capture);
  const CUresult result = wrong_thread ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
                          : capture->is_invalidated
                              ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                          : !joined ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                    : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS && graph != nullptr) {
    *graph = capture->graph->handle();
  } else if (!capture->into_existing) {
    capture->graph->Withdraw();
  }
  return result;
}

CUresult AddCaptured(Driver& driver, Stream& stream, NodeWork work) {
  StreamCapture& own = *stream.capture;
  GraphNode* node = nullptr;
  const CUresult result = own.capture->graph->AddNode(
      std::move(work),
      cuda::FindNodes<GraphEdge>(driver.graphs.nodes, own.edges), &node);
  if (result == CUDA_SUCCESS) own.edges = {{node->handle, {}}};
  return result;
}

CUresult JoinCapture(Driver&, const std::shared_ptr<Stream>& stream,
                     const EventCapture& event) {
  const std::shared_ptr<Capture> capture = event.capture.lock();
  if (capture->is_invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->kind() == Stream::Kind::kLegacy) {
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream->capture == nullptr) {
    stream->capture = std::make_shared<StreamCapture>();
    stream->capture->capture = capture;
    capture->streams.push_back(stream);
  } else if (stream->capture->capture != capture) {
    stream->capture->capture->is_invalidated = true;
    capture->is_invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  cuda::MergeEdges(event.edges, &stream->capture->edges);
  return CUDA_SUCCESS;
}

CUresult CheckUnsafeCall(Driver& driver) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : driver.graphs.captures) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool others = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                        thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || !(own || others)) {
      continue;
    }
    capture->is_invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

}  // namespace holdfast::software
