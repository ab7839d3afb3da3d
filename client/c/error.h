// SPDX-License-Identifier: Apache-2.0
//
// How the functions of holdfast.h report: an absl::Status becomes an hf_error,
// and no exception passes.
#ifndef HOLDFAST_CLIENT_C_ERROR_H_
#define HOLDFAST_CLIENT_C_ERROR_H_

#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/c/fault.h"
#include "client/c/holdfast.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

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

// The error of a null argument: the one with this index of `names`, "a, b".
absl::Status NullArgument(absl::string_view names, size_t index = 0);

// Returns the index of the first null pointer, or their number if none is null.
template <typename... Pointers>
size_t FirstNull(const Pointers&... pointers) {
  size_t index = 0;
  (void)((pointers != nullptr && ++index > 0) && ...);
  return index;
}

template <typename... Pointers>
bool HasNull(const Pointers&... pointers) {
  return ((pointers == nullptr) || ...);
}

}  // namespace holdfast::c

// Inside Guard: refuses null arguments. Its branch returns whatever the error
// is, so that Clang's analyzer sees that no pointer after it is null.
#define HF_REQUIRE(...)                            \
  if (::holdfast::c::HasNull(__VA_ARGS__))         \
  return ::holdfast::c::NullArgument(#__VA_ARGS__, \
                                     ::holdfast::c::FirstNull(__VA_ARGS__))

#endif  // HOLDFAST_CLIENT_C_ERROR_H_
