// SPDX-License-Identifier: Apache-2.0
//
// Entry points: events.
#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult Record(CUevent handle, CUstream stream_handle) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    const std::shared_ptr<Event> event = driver.events.Find(handle);
    if (event == nullptr || event->context_id() != stream.context().id()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    event->Record(stream);
    return CUDA_SUCCESS;
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
  return WithContext([&](Driver& driver, Context&) {
    return driver.events.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE
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
  return Record(event, stream);
}

CUresult cuEventQuery(CUevent handle) {
  return WithEvent(handle, [](Event& event) {
    const CUresult result = event.Query();
    return result == CUDA_SUCCESS ? LastFault() : result;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return WithEvent(handle, [](Event& event) {
    event.Wait();
    return LastFault();
  });
}

CUresult cuEventElapsedTime_v2(float* ms, CUevent start, CUevent end) {
  return WithContext([&](Driver& driver, Context&) {
    if (ms == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Event> from = driver.events.Find(start);
    const std::shared_ptr<Event> to = driver.events.Find(end);
    if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return Event::Elapsed(*from, *to, ms);
  });
}

}  // extern "C"
