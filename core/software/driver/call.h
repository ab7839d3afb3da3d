// SPDX-License-Identifier: Apache-2.0
//
// The beginning of entry points: the checks that CUDA makes before all others,
// and the lookups of handles. Each of the With... functions calls `body` only
// if its checks pass, and then returns the result of `body`.
//
// Every exported function is written with one of them:
//
//   CUresult cuStreamQuery(CUstream handle) {
//     return WithStream(handle, [](Driver&, Stream& stream) { ... });
//   }
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CALL_H_

#include <memory>

#include "core/software/driver/driver.h"
#include "core/software/driver/fault.h"
#include "core/software/driver/refusal.h"
#include "cuda.h"

namespace holdfast::software {

// Calls body(Driver&). CUDA_ERROR_NOT_INITIALIZED: cuInit has not succeeded in
// this process. CUDA_ERROR_NOT_PERMITTED: the calling thread runs a host
// function.
template <typename Body>
CUresult WithDriver(Body body) {
  ForgetRefusal();
  Driver& driver = Driver::Get();
  if (!driver.initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  if (cuda::HostFunctionScope::Active()) return CUDA_ERROR_NOT_PERMITTED;
  return body(driver);
}

// Calls body(Device&). CUDA_ERROR_INVALID_DEVICE: there is no such ordinal.
// Also fails as WithDriver does, like all functions below.
template <typename Body>
CUresult WithDevice(CUdevice ordinal, Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    Device* device = driver.FindDevice(ordinal);
    return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : body(*device);
  });
}

// Calls body(Driver&, Context&) with the thread's current context.
// CUDA_ERROR_INVALID_CONTEXT: the thread has no current context.
// CUDA_ERROR_CONTEXT_IS_DESTROYED: that context has ended. After the fault of a
// kernel, returns the error of the fault, as on a GPU.
template <typename Body>
CUresult WithContext(Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const CUcontext handle = CurrentContext();
    if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const std::shared_ptr<Context> context = FindContext(handle);
    if (context == nullptr || !context->alive()) {
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (const CUresult fault = LastFault(); fault != CUDA_SUCCESS) return fault;
    return body(driver, *context);
  });
}

// Calls body(Driver&). For calls about objects that belong to a context, so
// that the thread needs no current context. After the fault of a kernel,
// returns the error of the fault.
template <typename Body>
CUresult WithObjects(Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    if (const CUresult fault = LastFault(); fault != CUDA_SUCCESS) return fault;
    return body(driver);
  });
}

// Returns the error for a handle without an object:
// CUDA_ERROR_CONTEXT_IS_DESTROYED if the current context has ended, which also
// ends its objects; otherwise `unknown`.
inline CUresult ErrorOfMissing(CUresult unknown) {
  const CUcontext current = CurrentContext();
  return current != nullptr && FindContext(current) == nullptr
             ? CUDA_ERROR_CONTEXT_IS_DESTROYED
             : unknown;
}

// Returns true for the handles of the default streams, which belong to the
// current context.
inline bool IsDefaultStream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY ||
         stream == CU_STREAM_PER_THREAD;
}

// Returns the default stream that a handle means in this context. REQUIRES:
// IsDefaultStream is true for the handle. A null handle means the legacy
// default stream; in a PerThreadDefaultStream scope (driver.h), it means the
// default stream of the calling thread.
inline std::shared_ptr<Stream> DefaultStream(Context& context,
                                             CUstream stream) {
  if (stream == nullptr) {
    return PerThreadDefaultStream::Active() ? context.per_thread_stream()
                                            : context.legacy_stream();
  }
  return stream == CU_STREAM_LEGACY ? context.legacy_stream()
                                    : context.per_thread_stream();
}

// Calls body(Driver&, Stream&). For a default stream, makes the checks of
// WithContext; for any other stream, those of WithObjects.
// CUDA_ERROR_INVALID_HANDLE: there is no such stream.
template <typename Body>
CUresult WithStream(CUstream handle, Body body) {
  if (IsDefaultStream(handle)) {
    return WithContext([&](Driver& driver, Context& context) -> CUresult {
      return body(driver, *DefaultStream(context, handle));
    });
  }
  return WithObjects([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Stream> stream = driver.streams.Find(handle);
    return stream == nullptr ? ErrorOfMissing(CUDA_ERROR_INVALID_HANDLE)
                             : body(driver, *stream);
  });
}

// Calls body(Event&). CUDA_ERROR_INVALID_HANDLE: there is no such event. Also
// fails as WithObjects does.
template <typename Body>
CUresult WithEvent(CUevent handle, Body body) {
  return WithObjects([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Event> event = driver.events.Find(handle);
    return event == nullptr ? ErrorOfMissing(CUDA_ERROR_INVALID_HANDLE)
                            : body(*event);
  });
}

// Returns true if any of the pointers is null.
template <typename... Pointers>
bool AnyNull(const Pointers*... pointers) {
  return ((pointers == nullptr) || ...);
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CALL_H_
