// SPDX-License-Identifier: Apache-2.0
//
// How the functions of holdfast.h report: an absl::Status becomes an hf_error,
// and no exception passes.
#ifndef HOLDFAST_CLIENT_C_ERROR_H_
#define HOLDFAST_CLIENT_C_ERROR_H_

#include <exception>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/c/fault.h"
#include "client/c/holdfast.h"
#include "core/base/error_detail.h"

struct hf_error {
  absl::Status status;
  std::string message;
  holdfast::ErrorDetail detail;
  std::unique_ptr<const holdfast::c::Fault> fault;  // null: it tells of none
};

struct hf_text {
  std::string text;
};

namespace holdfast::c {

// Returns null for OK; else an error that the caller owns.
hf_error* ToError(const absl::Status& status);

// Calls `function`, which returns an absl::Status. An exception, such as that
// of an allocation that fails, becomes RESOURCE_EXHAUSTED.
template <typename Function>
hf_error* Guard(Function function) noexcept {
  try {
    const absl::Status status = function();
    return status.ok() ? nullptr : ToError(status);
  } catch (const std::exception& exception) {
    return ToError(absl::ResourceExhaustedError(exception.what()));
  }
}

inline absl::Status NullArgument(const char* name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
}

}  // namespace holdfast::c

// Inside Guard: refuses a null argument.
#define HF_REQUIRE(argument) \
  if ((argument) == nullptr) return ::holdfast::c::NullArgument(#argument)

#endif  // HOLDFAST_CLIENT_C_ERROR_H_
