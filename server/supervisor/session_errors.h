// SPDX-License-Identifier: Apache-2.0
//
// The errors of a session that does not serve.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_ERRORS_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "holdfast/v1/faults.pb.h"
#include "server/session/state.h"

namespace holdfast::supervisor {

// Returns UNAVAILABLE with ErrorDetail.session_lost, and with the CUDA error of
// `reason`.
absl::Status LostError(const std::string& id, const absl::Status& reason);
// Returns ABORTED: the answer to AcknowledgeFault for a session that was lost
// with the error `lost`.
absl::Status NotResumedError(const absl::Status& lost);
// Returns OK if the session can be suspended. UNAVAILABLE: the daemon is being
// replaced. FAILED_PRECONDITION: the session does not serve, or is being
// suspended already. `over` is the error of a session that is lost or closed.
absl::Status CheckSuspendable(const std::string& id,
                              const session::State& state,
                              const absl::Status& over);
// Returns OK if the session is suspended. UNAVAILABLE: the daemon is being
// replaced. FAILED_PRECONDITION: the session is not suspended.
absl::Status CheckSuspended(const std::string& id, const session::State& state);
// Returns UNAVAILABLE with the cause that the executor itself has reported.
absl::Status CauseOf(const v1::FaultReport& report);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_ERRORS_H_
