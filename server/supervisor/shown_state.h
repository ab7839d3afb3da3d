// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_
#define HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_

#include "holdfast/v1/sessions.pb.h"
#include "server/session/state.h"

namespace holdfast::supervisor {

// Returns the state that users see; `detached`: the session has no client.
// Users do not see that a session is parked for the next daemon, or that an
// operator has resumed it and its client has not acknowledged that yet.
v1::SessionInfo::State ShownState(const session::State& state, bool detached);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_
