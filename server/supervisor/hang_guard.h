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

// Notices that an executor has stopped to look for kernels over their limit of
// time: it is suspended, or hangs in the driver. Its journal says when it has
// looked last. An executor that lies about that is not found.
//
// Belongs to one ExecutorProcess whose session has a limit of time for kernels.
// The alarm kills the process.
class HangGuard {
 public:
  struct Options {
    // Its own descriptor, readable; see journal_reader.h.
    UniqueFd journal;
    // From the last look to the alarm.
    absl::Duration patience;
    absl::Duration period = absl::Seconds(1);  // between its own looks
    // Called once, by the guard's thread, with the time since the last look.
    std::function<void(absl::Duration)> alarm;
  };

  // Starts the guard's thread.
  explicit HangGuard(Options options);
  // `alarm` does not run any more when it returns.
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

 private:
  // Since the last look; 0 if there is nothing to look for. By the monotonic
  // clock. An executor that has not begun its journal has nothing to look for.
  absl::Duration SinceLook() const;
  void Run();

  const Options options_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_HANG_GUARD_H_
