// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_SESSION_LOSS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_SESSION_LOSS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/connection/restart_grace.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast {

// "session s-7 is lost: <reason>", UNAVAILABLE, with session_lost in its
// detail.
absl::Status LostSession(const std::string& session_id,
                         const absl::Status& reason);

// Why the command stream of a session ended with `status`. An executor that was
// killed cannot tell; the daemon, which outlives it, can, and is asked. Waits
// some seconds at most, while the daemon finds out, and for the next daemon as
// long as `restart` says. ABORTED with a fault epoch: the session is not lost
// and waits for AcknowledgeFault.
absl::Status ExplainLoss(const Daemon& daemon, const std::string& session_id,
                         const std::string& token, const RestartGrace& restart,
                         const absl::Status& status);

// Acknowledges the fault that ended `epoch`, or one that came after it, and
// waits until the session is ready, whichever daemon has it by then. Any error
// means that it is lost.
absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
    Daemon& daemon, const std::string& token, const RestartGrace& restart,
    uint64_t epoch);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_SESSION_LOSS_H_
