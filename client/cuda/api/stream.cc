// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams, and functions of the program in them.
#include <utility>

#include "client/cuda/api/call.h"
#include "client/cuda/graph/work.h"

using namespace holdfast::libcuda;

namespace {

CUresult CreateStream(CUstream* stream, unsigned flags, int priority) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (stream == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    HOLDFAST_ANSWER_OR_ASSIGN(std::shared_ptr<Stream> created,
                              context.CreateStream(flags, priority));
    *stream = process.streams.Add(std::move(created));
    return CUDA_SUCCESS;
  });
}

// Returns the result of the work before a callback, for its argument.
CUresult OutcomeOf(const absl::Status& status) {
  return status.ok() ? CUDA_SUCCESS : Answer(status);
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

CUresult cuStreamDestroy_v2(CUstream stream) {
  return WithObjects([&](Process& process) -> CUresult {
    const std::shared_ptr<Stream> ended = process.streams.Remove(stream);
    if (ended == nullptr) {
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    AbandonCapture(process, *ended);
    const std::shared_ptr<Context> context = ended->context();
    return context == nullptr ? CUDA_SUCCESS : Answer(context->Retire(*ended));
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return WithSubmittedWork(handle, [](Process&, Stream& stream) -> CUresult {
    if (stream.kind() == Stream::Kind::kLegacy) {
      HOLDFAST_ANSWER_IF_ERROR(stream.Enter());
    }
    HOLDFAST_ANSWER_OR_ASSIGN(const bool done, stream.queue().IsDone());
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return WithSubmittedWork(
      handle, [](Process&, Stream& stream) { return stream.Synchronize(); });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream.attributes().priority();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream.flags();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = stream.id();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    const std::shared_ptr<Context> context = stream.context();
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = context->ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    const std::shared_ptr<Context> owner = stream.context();
    if (owner == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = owner->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context,
                           CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(handle, context);
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                              const CUstreamAttrValue* value) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : stream.SetAttribute(id, *value);
  });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                              CUstreamAttrValue* value) {
  return WithStream(handle, [&](Process&, Stream& stream) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : stream.attributes().Get(id, value);
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return WithStream(from, [&](Process& process, Stream& source) {
    return WithStream(process, to, [&](Process&, Stream& stream) {
      stream.CopyAttributes(source.attributes());
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  if ((flags & ~CU_EVENT_WAIT_EXTERNAL) != 0)
    return Failed(CUDA_ERROR_INVALID_VALUE);
  return WithStream(handle, [&](Process& process, Stream& stream) -> CUresult {
    const auto found = process.events.Find(event);
    if (found == nullptr) {
      BreakCapture(process, stream);
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    CUresult captured = CUDA_SUCCESS;
    const bool is_external = (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
    if (is_external ? IsCaptured(process, stream, &captured,
                                 [&](NodeWork* work) {
                                   return ReadEventWait(process, event, work);
                                 })
                    : IsWaitCaptured(process, stream, *found, &captured)) {
      return captured;
    }
    HOLDFAST_ANSWER_IF_ERROR(stream.Enter());
    return Answer(stream.queue().Wait(found->event));
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return WithWork(
      handle,
      [&](Process&, Stream&, NodeWork* work) {
        return ReadHost({function, data}, work);
      },
      [&](Process&, Stream& stream) -> CUresult {
        if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
        // After a failure CUDA does not run the function.
        return Answer(
            stream.Call([function, data](const absl::Status& outcome) {
              if (outcome.ok()) function(data);
            }));
      });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                             void* data, unsigned flags) {
  if (callback == nullptr || flags != 0)
    return Failed(CUDA_ERROR_INVALID_VALUE);
  return WithWork(handle, RefuseCapture, [&](Process&, Stream& stream) {
    return stream.Call([handle, callback, data](const absl::Status& outcome) {
      callback(handle, OutcomeOf(outcome), data);
    });
  });
}

}  // extern "C"
