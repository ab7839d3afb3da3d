// SPDX-License-Identifier: Apache-2.0
//
// Functions that park the sessions of a daemon that another daemon is about to
// replace, and that undo this. Either all sessions are parked, or none.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/supervisor/session.h"

namespace holdfast::supervisor {

// Parks each session in a thread of its own, and blocks until all are parked,
// at most until about `deadline`. FAILED_PRECONDITION: some sessions cannot be
// parked; the message has all reasons, and all sessions continue.
absl::Status ParkSessions(const std::vector<std::shared_ptr<Session>>& sessions,
                          absl::Time deadline);

// Makes parked sessions continue.
void UnparkSessions(const std::vector<std::shared_ptr<Session>>& sessions);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_
