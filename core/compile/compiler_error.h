// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_
#define HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/error_detail.h"

namespace holdfast::compile {

// Returns the status of a failed compiler call, with `detail` as its
// ErrorDetail. The message has the call, the result's name, the explanation and
// the log. The code is `code`, or RESOURCE_EXHAUSTED if the log reports a lack
// of memory.
absl::Status CompilerError(absl::StatusCode code, const ErrorDetail& detail);

// Returns true if the log reports a lack of memory, for which compilers have no
// result code.
bool SaysOutOfMemory(absl::string_view log);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILER_ERROR_H_
