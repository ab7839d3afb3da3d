// SPDX-License-Identifier: Apache-2.0
//
// CUresult as absl::Status. The message names the call, the error and what it
// means; the same stands in the status's ErrorDetail. The codes are chosen so
// that a client can act on them:
//
//   RESOURCE_EXHAUSTED   out of memory, launch resources, connections
//   INVALID_ARGUMENT     an argument, image or PTX that the driver refuses
//   FAILED_PRECONDITION  right call, wrong state (capture, peer access, ...)
//   NOT_FOUND            a symbol or file that does not exist
//   UNIMPLEMENTED        this device or driver cannot do it
//   UNAVAILABLE          not ready, busy, or the device is gone
//   ABORTED              the context is lost; see IsSticky
#ifndef HOLDFAST_CORE_CUDA_RESULT_H_
#define HOLDFAST_CORE_CUDA_RESULT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/error_detail.h"
#include "core/cuda/driver_api.h"
#include "cuda.h"

namespace holdfast::cuda {

// "CUDA_ERROR_INVALID_VALUE"; for a code newer than our headers
// "CUDA_ERROR_<number>".
std::string ResultName(CUresult result);

// One sentence for people, ours and not the driver's.
absl::string_view ExplainResult(CUresult result);

// After such an error every context of the process answers the same error
// until the process ends: only a new executor helps.
bool IsSticky(CUresult result);

// The same for a status made by ToStatus.
bool IsSticky(const absl::Status& status);

// Some drivers can say why a context is lost: `describe` returns that text, or
// null; it ends up in what ToStatus makes of sticky errors. Set once, before
// the driver is used.
void SetFaultDescription(const char* (*describe)());

// Called by ToStatus with the status of a sticky error before it returns, by
// whichever thread found the error: where a process ends that is of no more
// use. Set once, by a thread that has not used the driver yet; null: nothing.
void OnStickyError(void (*handle)(const absl::Status&));

// `call` is the driver call, e.g. "cuMemCreate"; whatever follows a '(' is
// ignored.
absl::Status ToStatus(CUresult result, absl::string_view call);

// Returns from the calling function if `call`, made through the table, fails:
//
//   HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuStreamCreate(&stream, flags));
#define HOLDFAST_CUDA_RETURN_IF_ERROR(api, call)                  \
  do {                                                            \
    if (const CUresult holdfast_result_ = (api).call;             \
        holdfast_result_ != CUDA_SUCCESS) [[unlikely]] {          \
      return ::holdfast::cuda::ToStatus(holdfast_result_, #call); \
    }                                                             \
  } while (false)

// Before the first use of an optional call: returns UNIMPLEMENTED with the
// driver version that it needs if the table does not have it.
#define HOLDFAST_CUDA_REQUIRE(api, name)                  \
  do {                                                    \
    if ((api).name == nullptr) [[unlikely]] {             \
      return ::holdfast::cuda::MissingCall((api), #name); \
    }                                                     \
  } while (false)

// For destructors, which have nobody to tell: logs a failure, but stays silent
// about a driver that is already shutting down with its process, and about
// contexts lost earlier.
void LogIfFailed(CUresult result, absl::string_view call);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_RESULT_H_
