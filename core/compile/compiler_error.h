// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_
#define HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/error_detail.h"

namespace holdfast::compile {

// A failed call of a compiler. The message has the call, the result by name,
// the explanation and the log; the status has the same as its ErrorDetail.
// Whatever `code` is, RESOURCE_EXHAUSTED if the log says that memory was out.
absl::Status CompilerError(absl::StatusCode code, const ErrorDetail& detail);

// Compilers have no error of their own for that; this is what they say.
bool SaysOutOfMemory(absl::string_view log);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_
