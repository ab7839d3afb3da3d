// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_STOP_EVENTS_H_
#define HOLDFAST_SERVER_CONFIG_STOP_EVENTS_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast::server {

// The signals that make a daemon stop, or read its files again, as descriptors
// that its main thread sleeps on. SIGUSR1 is ignored.
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

  // Blocks the signals in this thread and those that it starts later, so to be
  // called before there are others. `watch_fd` is borrowed; -1: none.
  static absl::StatusOr<std::unique_ptr<StopEvents>> Create(int watch_fd);

  Event Wait(absl::Time deadline);

  // From any thread.
  void NotifyDrained();
  // The daemon is to make way for its successor.
  void NotifyUpgrade();
  // The daemon cannot go on.
  void NotifyFailed();

 private:
  // Returns what the signal that has come stands for; kTimeout if none has.
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
