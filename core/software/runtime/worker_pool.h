// SPDX-License-Identifier: Apache-2.0
//
// The threads that run the blocks of all launches of the process.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast::software {

class WorkerPool {
 public:
  // HOLDFAST_SOFTWARE_THREADS, by default the number of cores.
  static WorkerPool& Get();

  int threads() const { return threads_; }

  // Runs `task` on this thread and on up to `helpers` others at once; returns
  // when all of them have returned. The task itself decides what there is
  // still to do, so a helper that comes late does nothing.
  void Run(int helpers, const std::function<void()>& task);

 private:
  struct Job {
    const std::function<void()>* task;
    int* open;  // helpers that have not returned, guarded by mutex_
  };

  explicit WorkerPool(int threads);
  void Loop();

  const int threads_;
  absl::Mutex mutex_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
