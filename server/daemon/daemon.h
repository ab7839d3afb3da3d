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
//   Start   parts.h      made in order; executors and probes start
//           settings.h   policy and certificates
//           takeover.h   what the daemon before had
//           servers.h    sockets accept calls; READY=1
//   Run     waits for an event:
//             SIGHUP             settings anew; then as SIGUSR2, if the
//                                daemon's file was replaced
//             SIGUSR2, Upgrade   sessions are parked, and the process executes
//                                the next binary. If it cannot, the daemon
//                                goes on
//             SIGTERM, SIGINT    drains: no new sessions, waits for those that
//                                are open, up to --drain-timeout
//             the same again,    closes sessions at once
//             --watch-fd closed
//             no spawner         nothing can be started any more: leaves all to
//                                the next daemon if there is one, else stops
//                                with an error
//   ~       sockets close, calls end, sessions, executors and compilers end
class Daemon {
 public:
  // Starts the daemon, with the sessions and collections of the earlier daemon;
  // it accepts calls when Start returns. Arguments passed by reference must
  // outlive the daemon. Serves the sockets of `inheritance` besides those of
  // the configuration. Run executes `successor` for an upgrade.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Config& config,
                                                       Spawner& spawner,
                                                       StopEvents& events,
                                                       Successor successor,
                                                       Inheritance inheritance);
  ~Daemon();

  // Serves until an event stops the daemon; drains first if there is time.
  // Returns an error if the daemon cannot continue, so that a service manager
  // restarts it.
  absl::Status Run();

 private:
  Daemon(const Config& config, Spawner& spawner, StopEvents& events,
         std::unique_ptr<DaemonParts> parts,
         std::unique_ptr<DaemonServers> servers);
  // The steps of Start after the parts are made.
  static absl::Status Begin(const Config& config, KeptState left,
                            Inheritance* inheritance, DaemonParts& parts,
                            DaemonServers& servers);
  // Reports health from now on, watches the keeper and the spawner, and starts
  // the daemon's own threads. `keeper` is a pidfd; empty: there is none.
  void StartWatching(UniqueFd keeper);
  // Ends the processes of the earlier daemon when no session is recovering.
  void EndLeaving(LeavingSpawner leaving);
  // Writes the addresses to the log and --ready-fd, and notifies the service
  // manager.
  void Announce();
  // Waits for an event other than SIGHUP. Reloads the settings at each SIGHUP.
  StopEvents::Event Await(absl::Time deadline);
  // Writes the outcome of an act that a signal has requested to the audit log.
  void NoteSignal(const char* act, const char* signal,
                  const absl::Status& outcome);
  // Waits for sessions to end. Returns false if an event ends the wait.
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
