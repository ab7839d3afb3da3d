// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/result.h"

#include <atomic>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/cuda/refusal.h"

namespace holdfast::cuda {
namespace {

std::atomic<const char* (*)()> describe_fault{nullptr};
std::atomic<const char* (*)()> describe_refusal{nullptr};
std::atomic<void (*)(const absl::Status&)> on_sticky_error{nullptr};

struct Meaning {
  absl::string_view name;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  absl::string_view explanation;
};

Meaning MeaningOf(CUresult result) {
  switch (result) {
#define HOLDFAST_CUDA_RESULT(name, code, explanation) \
  case name:                                          \
    return {#name, absl::StatusCode::code, explanation};
#include "core/cuda/results.inc"
  }
  return {"", absl::StatusCode::kUnknown,
          "The driver is newer than this program and reports an error that it "
          "does not know."};
}

}  // namespace

std::string ResultName(CUresult result) {
  const absl::string_view name = MeaningOf(result).name;
  if (!name.empty()) return std::string(name);
  return absl::StrCat("CUDA_ERROR_", static_cast<int>(result));
}

absl::string_view ExplainResult(CUresult result) {
  return MeaningOf(result).explanation;
}

bool IsSticky(CUresult result) {
  return MeaningOf(result).code == absl::StatusCode::kAborted;
}

bool IsSticky(const absl::Status& status) {
  if (!absl::IsAborted(status)) return false;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && IsSticky(static_cast<CUresult>(detail->result));
}

void SetFaultDescription(const char* (*describe)()) {
  describe_fault = describe;
}

void SetRefusalDescription(const char* (*describe)()) {
  describe_refusal = describe;
}

void OnStickyError(void (*handle)(const absl::Status&)) {
  on_sticky_error = handle;
}

absl::Status ToStatus(CUresult result, absl::string_view call) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const Meaning meaning = MeaningOf(result);
  ErrorDetail detail;
  detail.call = std::string(call.substr(0, call.find('(')));
  detail.result = static_cast<int32_t>(result);
  detail.result_name = ResultName(result);
  detail.explanation = std::string(meaning.explanation);
  const auto describe =
      (IsSticky(result) ? describe_fault : describe_refusal).load();
  if (const char* why = describe == nullptr ? nullptr : describe()) {
    absl::StrAppend(&detail.explanation, " ", why);
  }
  absl::Status status(meaning.code,
                      absl::StrCat(detail.call, ": ", detail.result_name, ": ",
                                   detail.explanation));
  SetErrorDetail(detail, &status);
  if (const auto handle = on_sticky_error.load();
      handle != nullptr && IsSticky(result)) [[unlikely]] {
    handle(status);
  }
  return status;
}

void LogIfFailed(CUresult result, absl::string_view call) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED ||
      IsSticky(result)) {
    return;
  }
  LogWarning("release failed: ", ToStatus(result, call).message());
}

}  // namespace holdfast::cuda
