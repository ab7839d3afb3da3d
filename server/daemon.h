// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_H_
#define HOLDFAST_SERVER_DAEMON_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/config.h"
#include "server/process/spawner.h"
#include "server/restart/inheritance.h"
#include "server/restart/successor.h"
#include "server/stop_events.h"

namespace holdfast::server {

// The supervisor: owns the parts, starts them in order and takes them down in
// reverse. Never touches the CUDA driver.
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
  struct Parts;

  Daemon(const Config& config, Spawner& spawner, StopEvents& events,
         std::unique_ptr<Parts> parts);
  void Announce();
  // Waits for an event that is no SIGHUP; at each of those reads policy and
  // certificates again.
  StopEvents::Event Await(absl::Time deadline);
  void Reload();
  // Writes into the audit log how an act ended that a signal asked for.
  void NoteSignal(const char* act, const char* signal,
                  const absl::Status& outcome);
  bool Drain();
  // Makes way for the successor. Returns OK, and all goes on, if that was not
  // possible; else why the daemon cannot go on.
  absl::Status MakeWay();

  const Config& config_;
  Spawner& spawner_;
  StopEvents& events_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_H_
