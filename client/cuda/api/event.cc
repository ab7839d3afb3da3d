// SPDX-License-Identifier: Apache-2.0
//
// Entry points: events.
#include <utility>

#include "client/cuda/api/call.h"
#include "client/cuda/graph/work.h"

using namespace holdfast::libcuda;

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

bool AreEventFlags(unsigned flags) {
  const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  return (flags & ~kEventFlags) == 0 &&
         (!shared || (flags & CU_EVENT_DISABLE_TIMING) != 0);
}

// Without the flag, a recording in a capture is a point of it, at which other
// streams join.
CUresult Record(CUevent event, CUstream handle, unsigned flags) {
  return WithStream(handle, [&](Process& process, Stream& stream) {
    return WithEvent(process, event, [&](ProgramEvent& found) -> CUresult {
      if (found.is_imported) return CUDA_ERROR_NOT_SUPPORTED;
      CUresult captured = CUDA_SUCCESS;
      if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0
              ? IsCaptured(process, stream, &captured,
                           [&](NodeWork* work) {
                             return ReadEventRecord(process, event, work);
                           })
              : IsRecordCaptured(process, stream, found, &captured)) {
        return captured;
      }
      HOLDFAST_ANSWER_IF_ERROR(stream.Enter());
      return Answer(stream.queue().Record(found.event));
    });
  });
}

// body(ProgramEvent&) for a call that looks at the work before the event.
template <typename Body>
CUresult WithRecordedEvent(Process& process, CUevent event, Body body) {
  return WithEvent(process, event, [&](ProgramEvent& found) {
    return IsPointOfCapture(process, found) ? CUDA_ERROR_CAPTURED_EVENT
                                            : Answer(body(found));
  });
}
template <typename Body>
CUresult WithRecordedEvent(CUevent event, Body body) {
  return WithProcess([&](Process& process) {
    return WithRecordedEvent(process, event, body);
  });
}

// A clock that is read before both events are there has no answer yet.
CUresult ElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  const auto measure = [&](ProgramEvent& from, ProgramEvent& to) -> CUresult {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const absl::StatusOr<float> elapsed =
        to.event.MillisecondsSince(from.event);
    if (absl::IsUnavailable(elapsed.status()) && LastFault() == CUDA_SUCCESS) {
      return CUDA_ERROR_NOT_READY;
    }
    if (absl::IsFailedPrecondition(elapsed.status())) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    HOLDFAST_ANSWER_IF_ERROR(elapsed.status());
    *milliseconds = *elapsed;
    return CUDA_SUCCESS;
  };
  return WithProcess([&](Process& process) {
    return WithRecordedEvent(process, start, [&](ProgramEvent& from) {
      return WithRecordedEvent(
          process, end, [&](ProgramEvent& to) { return measure(from, to); });
    });
  });
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (event == nullptr || !AreEventFlags(flags)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    HOLDFAST_ANSWER_OR_ASSIGN(
        holdfast::Event created,
        context.device().CreateEvent(
            {.timing = (flags & CU_EVENT_DISABLE_TIMING) == 0,
             .blocking_sync = (flags & CU_EVENT_BLOCKING_SYNC) != 0,
             .interprocess = (flags & CU_EVENT_INTERPROCESS) != 0}));
    auto made = std::make_shared<ProgramEvent>(std::move(created), context.id(),
                                               context.device().ordinal());
    made->is_interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
    *event = process.events.Add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return WithObjects([&](Process& process) {
    return process.events.Remove(event) == nullptr
               ? ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE)
               : CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return Record(event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
                                unsigned flags) {
  return (flags & ~CU_EVENT_RECORD_EXTERNAL) != 0
             ? Failed(CUDA_ERROR_INVALID_VALUE)
             : Record(event, stream, flags);
}

CUresult cuEventQuery(CUevent event) {
  return WithRecordedEvent(event, [](ProgramEvent& found) -> CUresult {
    HOLDFAST_ANSWER_OR_ASSIGN(const bool done, found.event.IsDone());
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return WithRecordedEvent(
      event, [](ProgramEvent& found) { return found.event.Synchronize(); });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start,
                               CUevent end) {
  return ElapsedTime(milliseconds, start, end);
}

}  // extern "C"
