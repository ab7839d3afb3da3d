// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

namespace holdfast::software {

// The threads that run blocks, shared by all streams: as many as the machine
// has cores, or as $HOLDFAST_SOFTWARE_THREADS says. Thread-safe.
class WorkerPool {
 public:
  // Started on first use; lives as long as the process.
  static WorkerPool& Get();

  // Threads that work on one job at most, the caller included.
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `job` on the calling thread and on every worker that is idle while it
  // lasts; returns when all of those calls have returned.
  void Run(const std::function<void()>& job);

 private:
  struct Job {
    const std::function<void()>* function;
    int running = 0;
  };

  explicit WorkerPool(int threads);
  void Work();

  std::mutex mutex_;
  std::condition_variable added_;                 // a job
  std::condition_variable left_;                  // a worker has left a job
  std::list<Job*> jobs_ ABSL_GUARDED_BY(mutex_);  // that still take workers
  std::vector<std::thread> workers_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
