// SPDX-License-Identifier: Apache-2.0
//
// Makes single driver calls fail. A driver table is a struct of function
// pointers, so a test can replace one of them in a copy.
//
//   cuda::DriverApi api = driver.api;
//   InjectFault<&cuda::DriverApi::cuMemCreate>(&api, 2,
//   CUDA_ERROR_OUT_OF_MEMORY);
//
// The second cuMemCreate through `api` fails; all others reach the driver. Each
// function has at most one fault in a process at a time. One thread of the test
// injects faults; any thread may call the driver.
#ifndef HOLDFAST_TESTS_TESTING_FAULT_INJECTING_DRIVER_H_
#define HOLDFAST_TESTS_TESTING_FAULT_INJECTING_DRIVER_H_

#include <atomic>

#include "core/cuda/driver_api.h"
#include "cuda.h"

namespace holdfast::testing {

template <auto kCall>
class Fault;

template <typename... Args, CUresult (*cuda::DriverApi::*kCall)(Args...)>
class Fault<kCall> {
 public:
  static void Install(cuda::DriverApi* api, int call, CUresult result) {
    // A table that has a fault already keeps its original function.
    if (api->*kCall != &Fault::Call) original_ = api->*kCall;
    failing_call_ = call;
    result_ = result;
    calls_ = 0;
    api->*kCall = &Fault::Call;
  }
  static int calls() { return calls_; }

 private:
  static CUresult Call(Args... args) {
    if (++calls_ == failing_call_) return result_;
    return original_(args...);
  }

  static inline CUresult (*original_)(Args...) = nullptr;
  static inline int failing_call_ = 0;
  static inline CUresult result_ = CUDA_SUCCESS;
  static inline std::atomic<int> calls_{0};
};

// Makes call number `call` of the function return `result`. `call` counts from
// 1; 0: calls are only counted.
template <auto kCall>
void InjectFault(cuda::DriverApi* api, int call, CUresult result) {
  Fault<kCall>::Install(api, call, result);
}

// Returns the number of calls of the function since the last InjectFault.
template <auto kCall>
int CallsOf() {
  return Fault<kCall>::calls();
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_FAULT_INJECTING_DRIVER_H_
