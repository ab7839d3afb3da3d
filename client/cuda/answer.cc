// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/answer.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/fault.h"
#include "client/cuda/not_served.h"
#include "core/base/error_detail.h"
#include "core/cuda/result.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast::libcuda {
namespace {

std::atomic<CUresult> last_fault{CUDA_SUCCESS};

bool Logs() {
  static const bool logs = [] {
    const char* value = std::getenv("HOLDFAST_CUDA_LOG");
    return value != nullptr && *value != '\0' && *value != '0';
  }();
  return logs;
}

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

void Print(CUresult result, const absl::Status& status) {
  std::fprintf(stderr, "holdfast: %s: %s\n", cuda::ResultName(result).c_str(),
               std::string(status.message()).c_str());
}

}  // namespace

CUresult Answer(const absl::Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  const CUresult result = ResultOf(status, detail);
  if (Logs()) Print(result, status);
  if (FaultOf(status).has_value() || cuda::IsSticky(result) ||
      (detail.has_value() && detail->session_lost)) {
    CUresult none = CUDA_SUCCESS;
    const bool first = last_fault.compare_exchange_strong(none, result);
    if (first && !Logs()) Print(result, status);
    return last_fault;
  }
  return result;
}

CUresult LastFault() { return last_fault; }

int Refuse(const char* function) {
  return Answer(absl::UnimplementedError(
      absl::StrCat(function, " is not served through a daemon")));
}

}  // namespace holdfast::libcuda
