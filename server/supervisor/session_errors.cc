// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {
namespace {

using session::Phase;
using session::Reason;
using session::State;

bool IsMakingWay(const State& state) {
  return state.phase == Phase::kParked || state.phase == Phase::kLeft ||
         (state.phase == Phase::kQuiescing && state.why == Reason::kUpgrade);
}

absl::Status MakingWayError(const std::string& id) {
  return absl::UnavailableError(absl::StrCat(
      "session ", id,
      " cannot be suspended or resumed: the daemon makes way for another"));
}

}  // namespace

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

absl::Status CheckSuspendable(const std::string& id, const State& state,
                              const absl::Status& over) {
  if (IsOver(state)) return absl::FailedPreconditionError(over.message());
  if (IsMakingWay(state)) return MakingWayError(id);
  if (state.phase == Phase::kServing) return absl::OkStatus();
  if (state.phase == Phase::kQuiescing) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id, " is being suspended already"));
  }
  const bool suspended =
      state.why != Reason::kFault && state.phase != Phase::kRecovering;
  return absl::FailedPreconditionError(absl::StrCat(
      "session ", id, " is ",
      suspended ? "suspended" : absl::AsciiStrToLower(Name(state.phase)),
      ": only an active or detached one can be suspended"));
}

absl::Status CheckSuspended(const std::string& id, const State& state) {
  if (IsMakingWay(state)) return MakingWayError(id);
  if (state.phase == Phase::kStopped && state.why == Reason::kSuspension) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("session ", id, " is not suspended"));
}

absl::Status CauseOf(const v1::FaultReport& report) {
  absl::Status cause = absl::UnavailableError(report.cause().message());
  const auto detail = GetErrorDetail(FromError(report.cause()));
  if (detail.has_value()) SetErrorDetail(*detail, &cause);
  return cause;
}

}  // namespace holdfast::supervisor
