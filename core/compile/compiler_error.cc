// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compiler_error.h"

#include "absl/strings/str_cat.h"

namespace holdfast::compile {

absl::Status CompilerError(absl::StatusCode code, const ErrorDetail& detail) {
  absl::Status status(
      code, absl::StrCat(detail.call, ": ", detail.result_name, ": ",
                         detail.explanation, detail.log.empty() ? "" : "\n",
                         detail.log));
  SetErrorDetail(detail, &status);
  return status;
}

}  // namespace holdfast::compile
