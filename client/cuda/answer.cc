// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/answer.h"

#include <atomic>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/fault.h"
#include "client/cuda/call_log.h"
#include "client/cuda/not_served.h"
#include "core/base/error_detail.h"
#include "core/cuda/result.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast::libcuda {
namespace {

std::atomic<CUresult> last_fault{CUDA_SUCCESS};

CUresult ResultOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return CUDA_SUCCESS;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return CUDA_ERROR_INVALID_VALUE;
    case absl::StatusCode::kNotFound:
      return CUDA_ERROR_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case absl::StatusCode::kUnimplemented:
      return CUDA_ERROR_NOT_SUPPORTED;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return CUDA_ERROR_NOT_PERMITTED;
    case absl::StatusCode::kAborted:
      return CUDA_ERROR_LAUNCH_FAILED;
    case absl::StatusCode::kUnavailable:
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    default:
      return CUDA_ERROR_UNKNOWN;
  }
}

// A result of the driver; numbers of NVRTC and nvJitLink mean something else.
CUresult ResultOf(const absl::Status& status,
                  const std::optional<ErrorDetail>& detail) {
  if (detail.has_value() && detail->result != 0 &&
      absl::StartsWith(detail->result_name, "CUDA_ERROR_")) {
    return static_cast<CUresult>(detail->result);
  }
  return ResultOfCode(status.code());
}

}  // namespace

CUresult Answer(const absl::Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  const CUresult result = ResultOf(status, detail);
  const bool is_fault = FaultOf(status).has_value();
  const std::string why = is_fault
                              ? MessageWith(status, AfterFault::kContextIsLost)
                              : std::string(status.message());
  if (Logs()) PrintFailure(result, why);
  if (is_fault || cuda::IsSticky(result) ||
      (detail.has_value() && detail->session_lost)) {
    CUresult none = CUDA_SUCCESS;
    const bool first = last_fault.compare_exchange_strong(none, result);
    if (first && !Logs()) PrintFailure(result, why);
    return last_fault;
  }
  return result;
}

CUresult LastFault() { return last_fault; }

CUresult CheckNoFault() {
  const CUresult fault = LastFault();
  return fault == CUDA_SUCCESS
             ? fault
             : Failed(fault,
                      "the program's context was lost by the fault above");
}

int Refuse(const char* function) {
  return Failed(Answer(absl::UnimplementedError(
      absl::StrCat(function, " is not served through a daemon"))));
}

}  // namespace holdfast::libcuda
