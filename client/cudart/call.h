// SPDX-License-Identifier: Apache-2.0
//
// The common beginning and end of entry points: they get a driver and a current
// context first, and set the thread's last error afterwards. A file in
// stream_api/ is compiled twice; these templates take the driver whose stream 0
// has that compilation's meaning.
#ifndef HOLDFAST_CLIENT_CUDART_CALL_H_
#define HOLDFAST_CLIENT_CUDART_CALL_H_

#include <type_traits>

#include "client/cudart/contexts.h"
#include "client/cudart/driver.h"
#include "client/cudart/errors.h"
#include "client/cudart/modules.h"
#include "cuda.h"
#include "cuda_runtime_api.h"

namespace holdfast::libcudart {

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
constexpr DefaultStream kDefaultStream = DefaultStream::kPerThread;
#else
constexpr DefaultStream kDefaultStream = DefaultStream::kLegacy;
#endif

inline cudaError_t Translate(cudaError_t error) { return error; }

// Calls body(const Driver&), which returns a CUresult or a cudaError_t.
template <DefaultStream kStream = kDefaultStream, typename Body>
cudaError_t WithDriver(Body body) {
  const Driver& driver = Driver::Get(kStream);
  if (driver.status != cudaSuccess) return Record(driver.status);
  return Record(body(driver));
}

// Makes a context current, then calls body(const Driver&, CUcontext) or
// body(const Driver&).
template <DefaultStream kStream = kDefaultStream, typename Body>
cudaError_t WithContext(Body body) {
  return WithDriver<kStream>([&](const Driver& driver) -> cudaError_t {
    CUcontext context = nullptr;
    const cudaError_t error = EnterContext(driver, &context);
    if (error != cudaSuccess) return error;
    if constexpr (std::is_invocable_v<Body, const Driver&, CUcontext>) {
      return Translate(body(driver, context));
    } else {
      return Translate(body(driver));
    }
  });
}

// Calls body(const Driver&, CUfunction) with the kernel of `host` in the
// current context.
template <DefaultStream kStream = kDefaultStream, typename Body>
cudaError_t WithFunction(const void* host, Body body) {
  return WithContext<kStream>([&](const Driver& driver) -> cudaError_t {
    CUfunction function = nullptr;
    const cudaError_t error = FindFunction(driver, host, &function);
    return error != cudaSuccess ? error : Translate(body(driver, function));
  });
}

// Call one function of the driver: CallDriver without a context, CallInContext
// with one.
template <DefaultStream kStream = kDefaultStream, typename Function,
          typename... Args>
cudaError_t CallDriver(Function Driver::*function, Args... args) {
  return WithDriver<kStream>(
      [&](const Driver& driver) { return (driver.*function)(args...); });
}
template <DefaultStream kStream = kDefaultStream, typename Function,
          typename... Args>
cudaError_t CallInContext(Function Driver::*function, Args... args) {
  return WithContext<kStream>(
      [&](const Driver& driver) { return (driver.*function)(args...); });
}

inline CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Converts a pointer to a type of the runtime into one to the driver's type,
// which has the same layout or the same numbers.
template <typename To, typename From>
To* As(From* from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To*>(from);
}

// True if any of the pointers is null.
template <typename... Pointers>
bool AnyNull(const Pointers*... pointers) {
  return ((pointers == nullptr) || ...);
}

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_CALL_H_
