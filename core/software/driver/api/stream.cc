// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams and host functions.
#include "core/cuda/stream_attributes.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/parameters.h"

using namespace holdfast::software;

namespace {

CUresult CreateStream(CUstream* stream, unsigned flags, int priority) {
  return WithContext([&](Driver& driver, Context& context) {
    if (stream == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *stream = driver.streams.Add(context.CreateStream(flags, priority));
    return CUDA_SUCCESS;
  });
}

// Stores what get(Stream&) returns.
template <typename Value, typename Get>
CUresult Query(CUstream handle, Value* value, Get get) {
  return WithStream(handle, [&](Driver&, Stream& stream) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = get(stream);
    return CUDA_SUCCESS;
  });
}

// A wait that takes part in a capture: for an event of it, which a stream joins
// by that, or by a stream that captures.
bool WaitIsCaptured(Driver& driver, Stream& stream, const Event& event,
                    CUevent handle, unsigned flags, CUresult* result) {
  if (driver.graphs.capturing == 0) return false;
  const bool external = (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
  {
    const DefinitionsLock lock(driver.graphs);
    const bool joins = !external && event.capture != nullptr &&
                       !event.capture->capture.expired();
    if (joins) {
      *result = JoinCapture(driver, stream.shared_from_this(), *event.capture);
      return true;
    }
  }
  return Captured(driver, stream, result, [&](NodeWork* node) {
    if (!external) {
      stream.capture->capture->is_invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    return ReadEventWait(driver, handle, node);
  });
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return CreateStream(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags,
                                    int priority) {
  return CreateStream(stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return WithObjects([&](Driver& driver) {
    if (IsDefaultStream(handle)) return CUDA_ERROR_INVALID_HANDLE;
    // Its own thread does the work that is still pending.
    const std::shared_ptr<Stream> stream = driver.streams.Remove(handle);
    if (stream == nullptr) return ErrorOfMissing(CUDA_ERROR_INVALID_HANDLE);
    if (driver.graphs.capturing > 0) {
      const DefinitionsLock lock(driver.graphs);
      AbandonCapture(driver, *stream);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return WithStream(handle, [](Driver& driver, Stream& stream) {
    CUresult refused;
    if (RefusedByCapture(driver, stream, &refused)) return refused;
    if (!stream.Idle()) stream.RunLeft();
    if (!stream.Idle()) return CUDA_ERROR_NOT_READY;
    return LastFault();
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return WithStream(handle, [](Driver& driver, Stream& stream) {
    CUresult refused;
    if (RefusedByCapture(driver, stream, &refused)) return refused;
    stream.Drain();
    return LastFault();
  });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return Query(handle, priority,
               [](Stream& s) { return s.attributes().priority(); });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return Query(handle, flags, [](Stream& s) { return s.flags(); });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return Query(handle, id, [](Stream& s) { return s.id(); });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return Query(handle, device,
               [](Stream& s) { return s.context().device().ordinal(); });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return Query(handle, context, [](Stream& s) { return s.context().handle(); });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context,
                           CUgreenCtx* green) {
  const CUresult result = cuStreamGetCtx(handle, context);
  if (result == CUDA_SUCCESS && green != nullptr) *green = nullptr;
  return result;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                              const CUstreamAttrValue* value) {
  return WithStream(handle, [&](Driver&, Stream& stream) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : stream.SetAttribute(id, *value);
  });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                              CUstreamAttrValue* value) {
  return WithStream(handle, [&](Driver&, Stream& stream) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : stream.attributes().Get(id, value);
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return WithStream(from, [&](Driver&, Stream& source) {
    return WithStream(to, [&](Driver&, Stream& stream) {
      stream.CopyAttributes(source.attributes());
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  return WithStream(handle, [&](Driver& driver, Stream& stream) {
    if ((flags & ~CU_EVENT_WAIT_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Event> found = driver.events.Find(event);
    if (found == nullptr) {
      BreakCapture(driver, stream);
      return CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult captured;
    if (WaitIsCaptured(driver, stream, *found, event, flags, &captured)) {
      return captured;
    }
    return found->Delay(stream);
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return WithStream(handle, [&](Driver& driver, Stream& stream) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUresult captured;
    if (Captured(driver, stream, &captured, [&](NodeWork* node) {
          *node = HostWork{function, data};
          return CUDA_SUCCESS;
        })) {
      return captured;
    }
    const auto run = [function, data] {
      holdfast::cuda::HostFunctionScope scope;
      function(data);
    };
    return stream.Add({.run = run}, Stream::Runner::kWorker);
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                             void* data, unsigned flags) {
  return WithStream(handle, [&](Driver& driver, Stream& stream) {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult refused;
    if (RefusedByCapture(driver, stream, &refused)) return refused;
    const auto run = [handle, callback, data] {
      holdfast::cuda::HostFunctionScope scope;
      callback(handle, LastFault(), data);
    };
    return stream.Add({.run = run, .after = {}, .even_after_fault = true},
                      Stream::Runner::kWorker);
  });
}

}  // extern "C"
