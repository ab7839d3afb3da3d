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

// Returns UNAVAILABLE, "session s-7 is lost: <reason>", with session_lost in
// its detail.
absl::Status LostSession(const std::string& session_id,
                         const absl::Status& reason);

// Returns the reason why the command stream of a session ended with `status`.
// Asks the daemon, because a killed executor cannot report the reason. Blocks
// until this daemon, or the next daemon, can report the reason, for at most 5
// s, or for the time of `restart` if that is longer. ABORTED with a fault
// epoch: the session is not lost, and waits for AcknowledgeFault. Otherwise
// returns LostSession.
absl::Status ExplainLoss(const Daemon& daemon, const std::string& session_id,
                         const std::string& token, const RestartGrace& restart,
                         const absl::Status& status);

// Acknowledges the fault that ended `epoch`, or a later fault. Blocks until the
// session is ready, in this daemon or the next, for at most 2 minutes. Any
// error means that the session is lost.
absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
    Daemon& daemon, const std::string& token, const RestartGrace& restart,
    uint64_t epoch);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_SESSION_LOSS_H_
