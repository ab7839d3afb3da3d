// SPDX-License-Identifier: Apache-2.0
//
// The beginning of entry points: the checks that CUDA makes before all others,
// and the lookups of handles. Each function calls `body` only if its checks
// pass. It returns the result of `body`, a CUresult or an absl::Status, as a
// CUresult, and logs a failure (call_log.h).
//
// The forms with a Process& are for the body of another of these functions: an
// entry point makes the first checks, and logs a failure, once.
#ifndef HOLDFAST_CLIENT_CUDA_API_CALL_H_
#define HOLDFAST_CLIENT_CUDA_API_CALL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cuda/answer.h"
#include "client/cuda/call_log.h"
#include "client/cuda/context.h"
#include "client/cuda/graph/capture.h"
#include "client/cuda/process.h"
#include "core/cuda/host_function_scope.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Calls body(Process&). CUDA_ERROR_NOT_INITIALIZED: cuInit was not called.
// CUDA_ERROR_NOT_PERMITTED: the caller is a host function or callback of a
// stream, or the destructor of a user object.
template <typename Body>
CUresult WithProcess(Body body) {
  Process& process = Process::Get();
  if (!process.initialized()) return Failed(CUDA_ERROR_NOT_INITIALIZED);
  if (cuda::HostFunctionScope::Active())
    return Failed(CUDA_ERROR_NOT_PERMITTED);
  const CUresult result = Answer(body(process));
  return result == CUDA_SUCCESS ? result : Failed(result);
}

// Calls body(Process&), for entry points about objects, which need no current
// context. Returns the error of the last fault if there was a fault.
template <typename Body>
CUresult WithObjects(Process& process, Body body) {
  const CUresult fault = CheckNoFault();
  return fault != CUDA_SUCCESS ? fault : Answer(body(process));
}
template <typename Body>
CUresult WithObjects(Body body) {
  return WithProcess(
      [&](Process& process) { return WithObjects(process, body); });
}

// Calls body(Process&, v1::Device&). CUDA_ERROR_INVALID_DEVICE: there is no
// such device.
template <typename Body>
CUresult WithDevice(Process& process, CUdevice ordinal, Body body) {
  const auto& devices = process.connection().devices();
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return Answer(body(process, devices[static_cast<size_t>(ordinal)]));
}
template <typename Body>
CUresult WithDevice(CUdevice ordinal, Body body) {
  return WithProcess(
      [&](Process& process) { return WithDevice(process, ordinal, body); });
}

// Calls body(Process&, Context&) with the thread's current context.
// CUDA_ERROR_INVALID_CONTEXT: there is no current context.
// CUDA_ERROR_CONTEXT_IS_DESTROYED: the current context has ended. Returns the
// error of the last fault if there was a fault.
template <typename Body>
CUresult WithContext(Process& process, Body body) {
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto context = process.contexts().Find(CurrentContext());
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  const CUresult fault = CheckNoFault();
  return fault != CUDA_SUCCESS ? fault : Answer(body(process, *context));
}
template <typename Body>
CUresult WithContext(Body body) {
  return WithProcess(
      [&](Process& process) { return WithContext(process, body); });
}

// Returns the error for a handle without an object: `unknown`, unless the
// current context, and thus its objects, have ended.
inline CUresult ErrorOfMissing(Process& process, CUresult unknown) {
  return CurrentContext() != nullptr &&
                 process.contexts().Find(CurrentContext()) == nullptr
             ? CUDA_ERROR_CONTEXT_IS_DESTROYED
             : unknown;
}

// Returns true for the handles of the default streams, which belong to the
// current context.
inline bool IsDefaultStream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY ||
         stream == CU_STREAM_PER_THREAD;
}
// Returns the default stream that such a handle names in `context`.
inline absl::StatusOr<std::shared_ptr<Stream>> DefaultStream(Context& context,
                                                             CUstream stream) {
  const bool per_thread =
      stream == CU_STREAM_PER_THREAD ||
      (stream == nullptr && PerThreadDefaultStream::Active());
  return per_thread ? context.PerThreadStream() : context.LegacyStream();
}

// Calls body(Process&, Stream&). CUDA_ERROR_INVALID_HANDLE: there is no such
// stream.
template <typename Body>
CUresult WithStream(Process& process, CUstream handle, Body body) {
  if (IsDefaultStream(handle)) {
    return WithContext(process, [&](Process&, Context& context) -> CUresult {
      HOLDFAST_ANSWER_OR_ASSIGN(const std::shared_ptr<Stream> stream,
                                DefaultStream(context, handle));
      return Answer(body(process, *stream));
    });
  }
  return WithObjects(process, [&](Process&) -> CUresult {
    const std::shared_ptr<Stream> stream = process.streams.Find(handle);
    if (stream == nullptr) {
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    return Answer(body(process, *stream));
  });
}
template <typename Body>
CUresult WithStream(CUstream handle, Body body) {
  return WithProcess(
      [&](Process& process) { return WithStream(process, handle, body); });
}

// Calls body(Process&, Stream&) for an entry point that gives the stream work,
// after Stream::Enter. If the stream captures, calls capture(Process&, Stream&,
// NodeWork*) instead, which makes the work of a node.
template <typename Capturing, typename Body>
CUresult WithWork(Process& process, CUstream handle, Capturing capture,
                  Body body) {
  return WithStream(process, handle, [&](Process&, Stream& stream) -> CUresult {
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
template <typename Capturing, typename Body>
CUresult WithWork(CUstream handle, Capturing capture, Body body) {
  return WithProcess([&](Process& process) {
    return WithWork(process, handle, capture, body);
  });
}

// The `capture` of WithWork for work that no graph node can represent.
inline CUresult RefuseCapture(Process&, Stream&, NodeWork*) {
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Calls body(Process&, Stream&) for an entry point about work that was
// submitted to the stream. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: the stream
// captures, so that its work is not submitted.
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

// Calls body(ProgramEvent&). CUDA_ERROR_INVALID_HANDLE: there is no such event.
template <typename Body>
CUresult WithEvent(Process& process, CUevent handle, Body body) {
  return WithObjects(process, [&](Process&) -> CUresult {
    const auto event = process.events.Find(handle);
    if (event == nullptr) {
      return ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE);
    }
    return Answer(body(*event));
  });
}
template <typename Body>
CUresult WithEvent(CUevent handle, Body body) {
  return WithProcess(
      [&](Process& process) { return WithEvent(process, handle, body); });
}

// Returns true if any of the pointers is null.
template <typename... Pointers>
bool AnyNull(const Pointers*... pointers) {
  return ((pointers == nullptr) || ...);
}

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_API_CALL_H_
