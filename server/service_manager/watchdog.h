// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_WATCHDOG_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_WATCHDOG_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Reports to the service manager periodically that the daemon works. Each
// report is sent only after `probe` has returned, so that the service manager
// kills and restarts a daemon that hangs (WatchdogSec= of its unit).
class Watchdog {
 public:
  // Returns half of the service manager's timeout, as sd_watchdog_enabled(3)
  // advises; infinite if the service manager does not watch this process.
  static absl::Duration Interval();

  // Calls `probe` every `interval` in its own thread. Starts no thread if
  // `interval` is infinite.
  Watchdog(absl::Duration interval, std::function<void()> probe);

  // Ends the thread. Waits for a running probe.
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
