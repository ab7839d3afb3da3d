// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_STOP_EVENTS_H_
#define HOLDFAST_SERVER_STOP_EVENTS_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// The signals that make a daemon stop, or read its files again, as descriptors
// that its main thread sleeps on. SIGUSR1 and SIGUSR2 are ignored.
class StopEvents {
 public:
  enum class Event {
    kSignal,      // SIGTERM or SIGINT
    kReload,      // SIGHUP
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
  // The daemon cannot go on.
  void NotifyFailed();

 private:
  // Returns what the signal that has come stands for; kTimeout if none has.
  Event TakeSignal();

  StopEvents(UniqueFd signals, UniqueFd drained, UniqueFd failed, int watch_fd)
      : signals_(std::move(signals)),
        drained_(std::move(drained)),
        failed_(std::move(failed)),
        watch_fd_(watch_fd) {}

  const UniqueFd signals_;
  const UniqueFd drained_;
  const UniqueFd failed_;
  const int watch_fd_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_STOP_EVENTS_H_
