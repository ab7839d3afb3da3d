// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_H_
#define HOLDFAST_SERVER_DAEMON_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/process/spawner.h"
#include "server/stop_events.h"

namespace holdfast {

// The supervisor: owns the parts, starts them in order and takes them down in
// reverse. Never touches the CUDA driver.
class Daemon {
 public:
  // Accepts calls when it returns. What is passed must outlive the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Config& config,
                                                       Spawner& spawner,
                                                       StopEvents& events);
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
  bool Drain();

  const Config& config_;
  Spawner& spawner_;
  StopEvents& events_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_DAEMON_H_
