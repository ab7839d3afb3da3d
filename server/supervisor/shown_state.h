// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_
#define HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_

#include "holdfast/v1/sessions.pb.h"
#include "server/session/state.h"

namespace holdfast::supervisor {

// Returns the state that users see. `detached`: the session has no client. A
// session that is parked for the next daemon is shown in its previous state. A
// session that has resumed after a suspension is shown as running, even if its
// client has not acknowledged the suspension yet.
v1::SessionInfo::State ShownState(const session::State& state, bool detached);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SHOWN_STATE_H_
