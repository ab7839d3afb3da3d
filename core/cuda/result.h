// SPDX-License-Identifier: Apache-2.0
//
// Converts CUresult to absl::Status. The message names the call, the error and
// its meaning; the ErrorDetail has the same fields. The codes are chosen so
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

// Returns "CUDA_ERROR_INVALID_VALUE", for example; "CUDA_ERROR_<number>" if our
// headers do not know the code.
std::string ResultName(CUresult result);

// Returns one sentence that explains the result. The text is Holdfast's, not
// the driver's.
absl::string_view ExplainResult(CUresult result);

// Returns true if the error is sticky: every context of the process returns it
// until the process ends, so that only a new process helps.
bool IsSticky(CUresult result);

// Returns true for a status that ToStatus made of a sticky error.
bool IsSticky(const absl::Status& status);

// Sets a function that returns the driver's reason for a sticky error, or null.
// ToStatus adds the reason to sticky errors. REQUIRES: called once, before the
// driver is used.
void SetFaultDescription(const char* (*describe)());

// Sets a function that ToStatus calls with each sticky error before it returns,
// on the calling thread. The function may end the process. Null removes it.
// Call this before the driver is used.
void OnStickyError(void (*handle)(const absl::Status&));

// Returns the status of a driver call; OK for CUDA_SUCCESS. `call` is the name
// of the call, such as "cuMemCreate"; text from a '(' on is ignored.
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

// Returns UNIMPLEMENTED from the calling function if the table `api` lacks the
// optional call `name`. The message has the driver version that the call needs.
#define HOLDFAST_CUDA_REQUIRE(api, name)                  \
  do {                                                    \
    if ((api).name == nullptr) [[unlikely]] {             \
      return ::holdfast::cuda::MissingCall((api), #name); \
    }                                                     \
  } while (false)

// Logs a failed call, for destructors, which cannot return an error. Does not
// log CUDA_ERROR_DEINITIALIZED (the process is ending) or sticky errors, which
// were reported before.
void LogIfFailed(CUresult result, absl::string_view call);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_RESULT_H_
