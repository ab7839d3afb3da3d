// SPDX-License-Identifier: Apache-2.0
//
// Errors of the functions of holdfast.h: converts absl::Status to hf_error, and
// catches exceptions.
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
  std::unique_ptr<const holdfast::c::Fault> fault;  // null: no fault
};

struct hf_text {
  std::string text;
};

namespace holdfast::c {

// Returns null for OK; else an error that the caller owns.
hf_error* ToError(const absl::Status& status);

// Calls `function`, which returns an absl::Status. A std::exception, such as
// std::bad_alloc, becomes RESOURCE_EXHAUSTED.
template <typename Function>
hf_error* Guard(Function function) noexcept {
  try {
    const absl::Status status = function();
    return status.ok() ? nullptr : ToError(status);
  } catch (const std::exception& exception) {
    return ToError(absl::ResourceExhaustedError(exception.what()));
  }
}

// Returns INVALID_ARGUMENT for the null argument with this index in the list
// `names`, such as "a, b".
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

// Refuses null arguments; for use inside Guard. The branch always returns, so
// that Clang's analyzer sees that no pointer is null after it.
#define HF_REQUIRE(...)                            \
  if (::holdfast::c::HasNull(__VA_ARGS__))         \
  return ::holdfast::c::NullArgument(#__VA_ARGS__, \
                                     ::holdfast::c::FirstNull(__VA_ARGS__))

#endif  // HOLDFAST_CLIENT_C_ERROR_H_
