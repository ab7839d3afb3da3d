// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_errors.h"

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {

absl::Status LostError(const std::string& id, const absl::Status& reason) {
  absl::Status status = absl::UnavailableError(absl::StrCat(
      "session ", id, " is lost with all its resources: ", reason.message()));
  ErrorDetail detail = GetErrorDetail(reason).value_or(ErrorDetail());
  detail.session_lost = true;
  SetErrorDetail(detail, &status);
  return status;
}

absl::Status NotResumedError(const absl::Status& lost) {
  absl::Status status = absl::AbortedError(lost.message());
  if (const auto detail = GetErrorDetail(lost); detail.has_value()) {
    SetErrorDetail(*detail, &status);
  }
  return status;
}

absl::Status MakingWayError(const std::string& id) {
  return absl::UnavailableError(absl::StrCat(
      "session ", id,
      " cannot be suspended or resumed: the daemon makes way for another"));
}

absl::Status CauseOf(const v1::FaultReport& report) {
  absl::Status cause = absl::UnavailableError(report.cause().message());
  const auto detail = GetErrorDetail(FromError(report.cause()));
  if (detail.has_value()) SetErrorDetail(*detail, &cause);
  return cause;
}

}  // namespace holdfast::supervisor
