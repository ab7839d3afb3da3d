// SPDX-License-Identifier: Apache-2.0
//
// How this daemon goes on with what the daemon before it had, and leaves what
// it has itself to the next one. A daemon ends in one of three ways:
//
//   stopped     sessions are closed: nothing is left
//   upgraded    the process executes the next binary with all descriptors of
//               the store. Sessions are parked, counters kept: nobody notices
//   killed      the service manager or keeper has the descriptors. Sessions
//               recover as after a fault, counters begin anew
//
// The next daemon finds in the store: its directory of sockets, sessions with
// their memory, journals and sockets, collections with their versions, claims
// and imports, temporary tenants, whether it was to drain, and counters.
// Processes, compiled programs in memory and open connections are not kept.
// restart/README.md describes the store, restart/restore.h how each is
// restored.
#ifndef HOLDFAST_SERVER_DAEMON_TAKEOVER_H_
#define HOLDFAST_SERVER_DAEMON_TAKEOVER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config/config.h"
#include "server/config/runtime_directory.h"
#include "server/daemon/parts.h"
#include "server/kept/kept_state.h"

namespace holdfast::server {

// Returns the directory of the daemon before, or a new one. Sessions whose
// directory is gone, or outside --runtime-dir, cannot be reached any more: they
// lose their record in `left` and so end, but not collections and what else
// others have of them.
absl::StatusOr<std::unique_ptr<RuntimeDirectory>> TakeRuntimeDirectory(
    const Config& config, KeptState* left);

// Gives `parts` what the daemon before had. Blocks until the devices are known
// that its memory is on. REQUIRES: the policy is loaded, and no session was
// opened.
absl::Status TakeOver(KeptState left, DaemonParts& parts);

// Keeps the counters of metrics for the next daemon. REQUIRES: every session's
// work has ended.
void KeepCounters(DaemonParts& parts);

// Ends the process as a kill would, if the next daemon can go on then with all
// sessions: their sockets stay, and the store has the rest. Returns if it
// cannot.
void EndUnchanged(const DaemonParts& parts, const absl::Status& reason);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_TAKEOVER_H_
