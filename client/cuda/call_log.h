// SPDX-License-Identifier: Apache-2.0
//
// The log of the driver's calls that fail, on stderr: with HOLDFAST_CUDA_LOG=1
// in the environment. All functions are thread-safe.
#ifndef HOLDFAST_CLIENT_CUDA_CALL_LOG_H_
#define HOLDFAST_CLIENT_CUDA_CALL_LOG_H_

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Returns true if failures are logged.
bool Logs();

// Prints "holdfast: CUDA_ERROR_INVALID_VALUE: ..." in any case.
void PrintFailure(CUresult result, absl::string_view why);

// Logs the reason of a failure after the name of the entry point, and returns
// `result`: "cuMemFree_v2: 0x10 is not ...". The name comes from the stack; it
// is missing if the compiler has removed the entry point's frame. The entry
// point passes the result to LogResult, which does not log it again.
CUresult Failed(CUresult result, absl::string_view why);

// Called with the result of an entry point. Logs a failure, with the name of
// the entry point, unless this thread has just printed the reason of the
// failure. CUDA_ERROR_NOT_READY is no failure.
void LogResult(CUresult result);

// Logs the result and returns it. LogResult returns nothing, so that the call
// of it leaves the entry point on the stack.
inline CUresult Failed(CUresult result) {
  LogResult(result);
  return result;
}

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CALL_LOG_H_
