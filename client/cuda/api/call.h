// SPDX-License-Identifier: Apache-2.0
//
// The beginning of entry points: the checks that CUDA makes before all others,
// and the lookups of handles. Each function calls `body` only if its checks
// pass. It returns the result of `body`, a CUresult or an absl::Status, as a
// CUresult.
#ifndef HOLDFAST_CLIENT_CUDA_API_CALL_H_
#define HOLDFAST_CLIENT_CUDA_API_CALL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cuda/answer.h"
#include "client/cuda/context.h"
#include "client/cuda/graph/capture.h"
#include "client/cuda/process.h"
#include "core/cuda/host_function_scope.h"
#include "cuda.h"

namespace holdfast::libcuda {

// body(Process&). CUDA_ERROR_NOT_INITIALIZED: before cuInit.
// CUDA_ERROR_NOT_PERMITTED: called from a host function or callback of a
// stream, or from the destructor of a user object.
template <typename Body>
CUresult WithProcess(Body body) {
  Process& process = Process::Get();
  if (!process.initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  if (cuda::HostFunctionScope::Active()) return CUDA_ERROR_NOT_PERMITTED;
  return Answer(body(process));
}

// body(Process&): for calls about objects, which need no current context.
// Returns the error of the last fault if there was one.
template <typename Body>
CUresult WithObjects(Body body) {
  return WithProcess([&](Process& process) -> CUresult {
    const CUresult fault = LastFault();
    return fault != CUDA_SUCCESS ? fault : Answer(body(process));
  });
}

// body(Process&, v1::Device&). CUDA_ERROR_INVALID_DEVICE: there is no such
// device.
template <typename Body>
CUresult WithDevice(CUdevice ordinal, Body body) {
  return WithProcess([&](Process& process) -> CUresult {
    const auto& devices = process.connection().devices();
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    return Answer(body(process, devices[static_cast<size_t>(ordinal)]));
  });
}

// body(Process&, Context&) with the thread's current context.
// CUDA_ERROR_INVALID_CONTEXT: there is none. CUDA_ERROR_CONTEXT_IS_DESTROYED:
// it has ended.
template <typename Body>
CUresult WithContext(Body body) {
  return WithProcess([&](Process& process) -> CUresult {
    if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto context = process.contexts().Find(CurrentContext());
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    const CUresult fault = LastFault();
    return fault != CUDA_SUCCESS ? fault : Answer(body(process, *context));
  });
}

// Returns the error for a handle without an object: `unknown`, unless the
// current context, and thus its objects, have ended.
inline CUresult ErrorOfMissing(Process& process, CUresult unknown) {
  return CurrentContext() != nullptr &&
                 process.contexts().Find(CurrentContext()) == nullptr
             ? CUDA_ERROR_CONTEXT_IS_DESTROYED
             : unknown;
}

// The handles of the default streams, which belong to the current context.
inline bool IsDefaultStream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY ||
         stream == CU_STREAM_PER_THREAD;
}
inline absl::StatusOr<std::shared_ptr<Stream>> DefaultStream(Context& context,
                                                             CUstream stream) {
  const bool per_thread =
      stream == CU_STREAM_PER_THREAD ||
      (stream == nullptr && PerThreadDefaultStream::Active());
  return per_thread ? context.PerThreadStream() : context.LegacyStream();
}

// body(Process&, Stream&). CUDA_ERROR_INVALID_HANDLE: there is no such stream.
template <typename Body>
CUresult WithStream(CUstream handle, Body body) {
  if (IsDefaultStream(handle)) {
    return WithContext([&](Process& process, Context& context) -> CUresult {
      HOLDFAST_ANSWER_OR_ASSIGN(const std::shared_ptr<Stream> stream,
                                DefaultStream(context, handle));
      return Answer(body(process, *stream));
    });
  }
  return WithObjects([&](Process& process) -> CUresult {
    const std::shared_ptr<Stream> stream = process.streams.Find(handle);
    if (stream == nullptr) {
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    return Answer(body(process, *stream));
  });
}

// The same for a call that gives the stream work. If the stream captures,
// capture(Process&, Stream&, NodeWork*) makes the work of a node instead.
template <typename Capturing, typename Body>
CUresult WithWork(CUstream handle, Capturing capture, Body body) {
  return WithStream(handle, [&](Process& process, Stream& stream) -> CUresult {
    CUresult captured = CUDA_SUCCESS;
    if (IsCaptured(process, stream, &captured, [&](NodeWork* work) -> CUresult {
          return capture(process, stream, work);
        })) {
      return captured;
    }
    HOLDFAST_ANSWER_IF_ERROR(stream.Enter());
    return Answer(body(process, stream));
  });
}

// For work that no graph node can represent.
inline CUresult RefuseCapture(Process&, Stream&, NodeWork*) {
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// WithStream for a call about work that was submitted to the stream. A stream
// that captures has none: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
template <typename Body>
CUresult WithSubmittedWork(CUstream handle, Body body) {
  return WithStream(handle, [&](Process& process, Stream& stream) -> CUresult {
    CUresult captured = CUDA_SUCCESS;
    if (IsCaptured(process, stream, &captured, [](NodeWork*) {
          return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        })) {
      return captured;
    }
    return Answer(body(process, stream));
  });
}

// body(ProgramEvent&). CUDA_ERROR_INVALID_HANDLE: there is no such event.
template <typename Body>
CUresult WithEvent(CUevent handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    const auto event = process.events.Find(handle);
    if (event == nullptr) {
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    return Answer(body(*event));
  });
}

// True if any of the pointers is null.
template <typename... Pointers>
bool AnyNull(const Pointers*... pointers) {
  return ((pointers == nullptr) || ...);
}

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_API_CALL_H_
