// SPDX-License-Identifier: Apache-2.0
//
// Entry points: events.
#include "core/software/base/mutex.h"
#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/parameters.h"

using namespace holdfast::software;

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// Without a flag, an event that is recorded in a capture only marks a point of
// it, for other streams to join at.
bool RecordIsCaptured(Driver& driver, Stream& stream, Event& event,
                      CUevent handle, unsigned flags, CUresult* result) {
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    return Captured(driver, stream, result, [&](NodeWork* node) {
      return ReadEventRecord(driver, handle, node);
    });
  }
  if (driver.graphs.capturing == 0) return false;
  const DefinitionsLock lock(driver.graphs);
  event.capture = nullptr;
  if (stream.capture == nullptr) {
    if (stream.kind() != Stream::Kind::kLegacy ||
        !CapturesImplicitly(driver, stream)) {
      return false;
    }
    Invalidate(driver, stream.context());
    *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return true;
  }
  *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture->capture->is_invalidated) return true;
  event.capture = std::make_shared<EventCapture>();
  event.capture->capture = stream.capture->capture;
  event.capture->edges = stream.capture->edges;
  *result = CUDA_SUCCESS;
  return true;
}

// Whether the event marks a point of a capture that goes on, which nobody can
// ask or wait for.
bool InCapture(Driver& driver, const Event& event) {
  if (driver.graphs.capturing == 0) return false;
  const DefinitionsLock lock(driver.graphs);
  if (event.capture == nullptr) return false;
  const std::shared_ptr<Capture> capture = event.capture->capture.lock();
  if (capture == nullptr) return false;
  capture->is_invalidated = true;
  return true;
}

CUresult Record(CUevent handle, CUstream stream_handle, unsigned flags = 0) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    const std::shared_ptr<Event> event = driver.events.Find(handle);
    if (event == nullptr || event->context_id() != stream.context().id()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult captured;
    if (RecordIsCaptured(driver, stream, *event, handle, flags, &captured)) {
      return captured;
    }
    return event->Record(stream);
  });
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return WithContext([&](Driver& driver, Context& context) {
    if (event == nullptr || (flags & ~kEventFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::shared_ptr<SharedProgress> shared;
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
      if ((flags & CU_EVENT_DISABLE_TIMING) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      shared = SharedProgress::Create();
      if (shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *event = driver.events.Add(
        std::make_shared<Event>(context.id(), flags, std::move(shared)));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return WithObjects([&](Driver& driver) {
    return driver.events.Remove(handle) == nullptr
               ? ErrorOfMissing(CUDA_ERROR_INVALID_HANDLE)
               : CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return Record(event, stream);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
                                unsigned flags) {
  // CU_EVENT_RECORD_EXTERNAL has a meaning in stream capture only.
  if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
  return Record(event, stream, flags);
}

CUresult cuEventQuery(CUevent handle) {
  return WithEvent(handle, [](Event& event) {
    if (InCapture(Driver::Get(), event)) return CUDA_ERROR_CAPTURED_EVENT;
    const CUresult result = event.Query();
    return result == CUDA_SUCCESS ? LastFault() : result;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return WithEvent(handle, [](Event& event) {
    if (InCapture(Driver::Get(), event)) return CUDA_ERROR_CAPTURED_EVENT;
    event.Wait();
    return LastFault();
  });
}

CUresult cuEventElapsedTime_v2(float* ms, CUevent start, CUevent end) {
  return WithObjects([&](Driver& driver) {
    if (ms == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Event> from = driver.events.Find(start);
    const std::shared_ptr<Event> to = driver.events.Find(end);
    if (from == nullptr || to == nullptr) {
      return ErrorOfMissing(CUDA_ERROR_INVALID_HANDLE);
    }
    return Event::Elapsed(*from, *to, ms);
  });
}

}  // extern "C"
