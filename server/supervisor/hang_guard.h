// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_HANG_GUARD_H_
#define HOLDFAST_SERVER_SUPERVISOR_HANG_GUARD_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast::supervisor {

// Detects that an executor has stopped checking whether kernels are over their
// time limit, because its process is stopped or hangs in the driver. The
// executor writes the time of its last check into its journal; the guard does
// not detect false times.
//
// Each ExecutorProcess whose session has a time limit for kernels has a guard.
// The alarm kills the process.
class HangGuard {
 public:
  struct Options {
    // A readable descriptor of the journal, which the guard owns; see
    // journal_reader.h.
    UniqueFd journal;
    // The time from the executor's last check to the alarm.
    absl::Duration patience;
    absl::Duration period = absl::Seconds(1);  // of the guard's reads
    // Called once, by the guard's thread, with the time since the last check.
    std::function<void(absl::Duration)> alarm;
  };

  // Starts the guard's thread.
  explicit HangGuard(Options options);
  // Stops the thread. Waits for a running alarm.
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

 private:
  // Returns the time since the executor's last check, by the monotonic clock; 0
  // if there is no kernel to check, or the journal has not begun.
  absl::Duration SinceLook() const;
  void Run();

  const Options options_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_HANG_GUARD_H_
