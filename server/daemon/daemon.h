// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_DAEMON_H_
#define HOLDFAST_SERVER_DAEMON_DAEMON_H_

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/config/config.h"
#include "server/config/stop_events.h"
#include "server/daemon/parts.h"
#include "server/daemon/servers.h"
#include "server/kept/kept_state.h"
#include "server/process/leaving_spawner.h"
#include "server/process/spawner.h"
#include "server/restart/inheritance.h"
#include "server/restart/keeper_watch.h"
#include "server/restart/successor.h"
#include "server/service_manager/watchdog.h"

namespace holdfast::server {

// The supervisor, from start to end. Never calls the CUDA driver.
//
//   Start   parts.h      the parts are made in order; executors and probes
//                        start
//           settings.h   the policy and the certificates are read
//           takeover.h   the earlier daemon's state is restored
//           servers.h    the sockets accept calls; READY=1
//   Run     waits for an event:
//             SIGHUP             reads the settings again; then acts as for
//                                SIGUSR2 if the daemon's binary was replaced
//             SIGUSR2, Upgrade   parks the sessions, and executes the next
//                                binary in this process. If that fails, the
//                                daemon continues
//             SIGTERM, SIGINT    drains: accepts no new session, and waits for
//                                the open sessions, up to --drain-timeout
//             the same again,    closes the sessions at once
//             --watch-fd closed
//             the spawner died   no process can be started any more: ends at
//                                once if the next daemon can continue the
//                                sessions, or else closes them and fails
//   ~       the sockets close; calls, sessions, executors and compilers end
class Daemon {
 public:
  // Starts the daemon, with the sessions and collections of the earlier daemon.
  // The daemon accepts calls when Start returns. It serves the sockets of
  // `inheritance` besides those of the configuration; Run executes `successor`
  // for an upgrade. Blocks for up to minutes if it restores state. If Start
  // fails while there is state to restore, the process may end at once
  // (EndUnchanged in takeover.h). REQUIRES: called once; arguments passed by
  // reference outlive the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Config& config,
                                                       Spawner& spawner,
                                                       StopEvents& events,
                                                       Successor successor,
                                                       Inheritance inheritance);
  ~Daemon();

  // Blocks until an event stops the daemon, and until the sessions are closed.
  // Returns an error if the daemon could not continue; the process must then
  // exit with an error, so that a service manager restarts it.
  absl::Status Run();

 private:
  Daemon(const Config& config, Spawner& spawner, StopEvents& events,
         std::unique_ptr<DaemonParts> parts,
         std::unique_ptr<DaemonServers> servers);
  // Does the steps of Start that follow the making of the parts.
  static absl::Status Begin(const Config& config, KeptState left,
                            Inheritance* inheritance, DaemonParts& parts,
                            DaemonServers& servers);
  // Reports health from now on, watches the keeper and the spawner, and starts
  // the daemon's own threads. `keeper` is a pidfd; empty: there is none.
  void StartWatching(UniqueFd keeper);
  // Ends the earlier daemon's processes when no session is recovering any more,
  // at the latest after 30 s. Does not block.
  void EndLeaving(LeavingSpawner leaving);
  // Writes the addresses to the log and to --ready-fd, and notifies the service
  // manager.
  void Announce();
  // Waits for an event other than SIGHUP. Reloads the settings at each SIGHUP.
  StopEvents::Event Await(absl::Time deadline);
  // Writes to the audit log the outcome of an act that a signal has requested.
  void NoteSignal(const char* act, const char* signal,
                  const absl::Status& outcome);
  // Refuses new sessions, and waits until the open sessions have ended, or for
  // --drain-timeout. Returns false if the sessions must be closed at once.
  bool Drain();
  // Executes the successor. Returns OK if that was not possible and the daemon
  // continues; an error if the daemon cannot continue.
  absl::Status Upgrade();

  const Config& config_;
  Spawner& spawner_;
  StopEvents& events_;
  const std::unique_ptr<DaemonParts> parts_;
  const std::unique_ptr<DaemonServers> servers_;
  std::thread expiry_;    // closes sessions whose time is up
  std::thread prestart_;  // of the first compiler worker
  std::thread leaving_;   // waits for sessions; see EndLeaving
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<KeeperWatch> keeper_watch_;  // if a keeper has started it
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_DAEMON_H_
