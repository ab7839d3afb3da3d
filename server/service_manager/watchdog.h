// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_WATCHDOG_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_WATCHDOG_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Tells the service manager again and again that the daemon is alive: only
// after `probe` has returned, so that a daemon that hangs is killed and started
// anew (WatchdogSec= of its unit).
class Watchdog {
 public:
  // Half of what the service manager waits for a sign of life, as
  // sd_watchdog_enabled(3) advises; infinite if it does not watch this process.
  static absl::Duration Interval();

  // Calls `probe` every `interval` in a thread of its own; starts none if
  // `interval` is infinite.
  Watchdog(absl::Duration interval, std::function<void()> probe);

  // Ends the thread; waits for a probe that is running.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Run();

  const absl::Duration interval_;
  const std::function<void()> probe_;
  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_WATCHDOG_H_
