// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_STOP_EVENTS_H_
#define HOLDFAST_SERVER_CONFIG_STOP_EVENTS_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast::server {

// The events for the daemon's main thread: signals and calls that make the
// daemon stop, reload its files or upgrade.
class StopEvents {
 public:
  enum class Event {
    kSignal,      // SIGTERM or SIGINT
    kReload,      // SIGHUP
    kUpgrade,     // SIGUSR2, or NotifyUpgrade was called
    kParentGone,  // the watched descriptor was closed
    kDrained,     // NotifyDrained was called
    kFailed,      // NotifyFailed was called
    kTimeout,
  };

  // Blocks the signals of the events in this thread and in threads that it
  // starts later, and makes the process ignore SIGUSR1. `watch_fd` is the
  // watched descriptor, which is borrowed; -1: none. REQUIRES: the process has
  // no other thread.
  static absl::StatusOr<std::unique_ptr<StopEvents>> Create(int watch_fd);

  // Blocks until an event has come, and returns it; kTimeout at the deadline.
  // kParentGone, kDrained and kFailed are returned again by later calls.
  Event Wait(absl::Time deadline);

  // Any thread may call the Notify methods. They do not block.
  // Notes that the last session has ended while the daemon drains.
  void NotifyDrained();
  // Makes the daemon upgrade to its successor.
  void NotifyUpgrade();
  // Makes the daemon end, because it cannot continue.
  void NotifyFailed();

 private:
  // Returns the event of the received signal; kTimeout if there is none.
  Event TakeSignal();

  StopEvents(UniqueFd signals, UniqueFd drained, UniqueFd upgrade,
             UniqueFd failed, int watch_fd)
      : signals_(std::move(signals)),
        drained_(std::move(drained)),
        upgrade_(std::move(upgrade)),
        failed_(std::move(failed)),
        watch_fd_(watch_fd) {}

  const UniqueFd signals_;
  const UniqueFd drained_;
  const UniqueFd upgrade_;
  const UniqueFd failed_;
  const int watch_fd_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_STOP_EVENTS_H_
