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

// The supervisor's life. Never touches the CUDA driver.
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
  // Accepts calls when it returns, and has the sessions and collections of the
  // daemon before it. Arguments passed by reference must outlive the daemon.
  // Sockets of `inheritance` are served as well as what the configuration says.
  // `successor` is what Run executes when that is asked for.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Config& config,
                                                       Spawner& spawner,
                                                       StopEvents& events,
                                                       Successor successor,
                                                       Inheritance inheritance);
  ~Daemon();

  // Serves until something tells it to stop; drains if there is time. Returns
  // an error if the daemon could not go on, so that a service manager restarts
  // it.
  absl::Status Run();

 private:
  Daemon(const Config& config, Spawner& spawner, StopEvents& events,
         std::unique_ptr<DaemonParts> parts,
         std::unique_ptr<DaemonServers> servers);
  // All of the start that may fail once the parts are made.
  static absl::Status Begin(const Config& config, KeptState left,
                            Inheritance* inheritance, DaemonParts& parts,
                            DaemonServers& servers);
  // Reports health from now on, watches the keeper and the spawner, and starts
  // the daemon's own threads. `keeper` is a pidfd; empty: there is none.
  void StartWatching(UniqueFd keeper);
  // Ends the processes of the daemon before when no session recovers any more.
  void EndLeaving(LeavingSpawner leaving);
  // Says where it listens: in the log, to --ready-fd and the service manager.
  void Announce();
  // Waits for an event that is no SIGHUP; at each of those reads the settings
  // again.
  StopEvents::Event Await(absl::Time deadline);
  // Writes into the audit log how an act ended that a signal asked for.
  void NoteSignal(const char* act, const char* signal,
                  const absl::Status& outcome);
  // Waits for sessions to end. Returns false if they are not to be waited for
  // any more.
  bool Drain();
  // Makes way for the successor. Returns OK, and all goes on, if that was not
  // possible; else why the daemon cannot go on.
  absl::Status MakeWay();

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
