// SPDX-License-Identifier: Apache-2.0
//
// Parks the sessions of a daemon that another daemon is about to replace, and
// undoes that. Either all sessions are parked, or none.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/supervisor/session.h"

namespace holdfast::supervisor {

// Parks each session in a thread of its own, until `deadline`.
// FAILED_PRECONDITION: some sessions cannot be parked; the message has all
// reasons. The sessions that were parked continue then.
absl::Status ParkSessions(const std::vector<std::shared_ptr<Session>>& sessions,
                          absl::Time deadline);

// Makes parked sessions continue.
void UnparkSessions(const std::vector<std::shared_ptr<Session>>& sessions);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_PARKING_H_
