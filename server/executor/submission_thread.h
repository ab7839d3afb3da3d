// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_THREAD_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::executor {

// The one thread that gives a session's devices their work and owns its
// resources: what it runs needs no locks. Thread-safe.
class SubmissionThread {
 public:
  // Work items that wait; Post blocks beyond that, which holds up only the
  // stream that posts.
  static constexpr size_t kMaxWaiting = 64;

  SubmissionThread();
  // Drops what waits and joins.
  ~SubmissionThread();
  SubmissionThread(const SubmissionThread&) = delete;
  SubmissionThread& operator=(const SubmissionThread&) = delete;

  // In order of the calls. False: it is stopping, and the work will not run.
  bool Post(std::function<void()> work);

  // Posts and waits until the work has run. Not from the thread itself.
  bool Run(const std::function<void()>& work);

  void Stop();

 private:
  void Loop();

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_THREAD_H_
