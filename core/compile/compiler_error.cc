// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compiler_error.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast::compile {

bool SaysOutOfMemory(absl::string_view log) {
  for (const char* sign :
       {"out of memory", "bad_alloc", "Memory allocation failure"}) {
    if (absl::StrContains(log, sign)) return true;
  }
  return false;
}

absl::Status CompilerError(absl::StatusCode code, const ErrorDetail& detail) {
  if (SaysOutOfMemory(detail.log)) code = absl::StatusCode::kResourceExhausted;
  absl::Status status(
      code, absl::StrCat(detail.call, ": ", detail.result_name, ": ",
                         detail.explanation, detail.log.empty() ? "" : "\n",
                         detail.log));
  SetErrorDetail(detail, &status);
  return status;
}

}  // namespace holdfast::compile
