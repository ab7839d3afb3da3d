// SPDX-License-Identifier: Apache-2.0
//
// The state that passes from an earlier daemon to this one, and from this one
// to the next. A daemon ends in one of three ways:
//
//   stopped     Sessions are closed. No state is left.
//   upgraded    The process executes the next binary with all descriptors of
//               the store. Sessions are parked, counters are kept, and clients
//               continue.
//   killed      The service manager or the keeper has the descriptors. Sessions
//               recover as after a fault. Counters start at 0.
//
// The descriptor store has for the next daemon: the directory of sockets;
// sessions with their memory, journals and sockets; collections with their
// versions, claims and imports; temporary tenants; the state of `holdfast admin
// drain`; and counters. Processes, compiled programs in memory and open
// connections are not kept. restart/README.md describes the store,
// restart/restore.h the order of restoration.
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

// Returns the earlier daemon's directory of sockets, or a new directory if
// there was no earlier daemon. If the earlier directory is missing or outside
// --runtime-dir, clients cannot reach their sessions any more. The function
// then removes the records of sessions from `left`, so that the sessions end,
// and returns a new directory. Collections and shared memory stay. Fails as
// RuntimeDirectory::Create.
absl::StatusOr<std::unique_ptr<RuntimeDirectory>> TakeRuntimeDirectory(
    const Config& config, KeptState* left);

// Restores the earlier daemon's state in `parts`. If there are sessions or
// tenants, blocks for up to 2 minutes until the devices are known, and fails as
// ExecutorFleet::AwaitDevices. REQUIRES: the policy is loaded, and no session
// was opened.
absl::Status TakeOver(KeptState left, DaemonParts& parts);

// Stores the counters of metrics for the next daemon. REQUIRES: every session's
// work has ended.
void KeepCounters(DaemonParts& parts);

// Logs `reason` and ends the process at once, like a kill, if the next daemon
// can then continue all sessions, because the service manager has the
// descriptors. Their sockets stay. Otherwise returns.
void EndUnchanged(const DaemonParts& parts, const absl::Status& reason);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_TAKEOVER_H_
