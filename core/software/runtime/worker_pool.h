// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_

#include <functional>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The threads that run blocks, shared by all streams: as many as the machine
// has cores, or as $HOLDFAST_SOFTWARE_THREADS says. Thread-safe.
class WorkerPool {
  struct Job {
    const std::function<void()>* function;
    int running = 0;
    bool posted = false;  // still takes workers
  };

 public:
  // Calls workers to a job as its work arrives. Not thread-safe, except the
  // job.
  class Helpers {
   public:
    // `job` does the available work, and returns. Workers call it concurrently.
    Helpers(WorkerPool& pool, std::function<void()> job)
        : pool_(pool), function_(std::move(job)), job_{&function_} {}
    // Blocks until no worker is in the job.
    ~Helpers() {
      if (called_) pool_.Withdraw(&job_);
    }
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    // Wakes up to `count` idle workers for the job, unless an earlier call
    // still takes workers. Returns at once.
    void Call(int count) {
      called_ = true;
      pool_.Post(&job_, count);
    }

   private:
    WorkerPool& pool_;
    const std::function<void()> function_;
    Job job_;
    bool called_ = false;
  };

  // Started on first use; lives as long as the process.
  static WorkerPool& Get();

  // The most threads that work on one job, including the caller.
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `job` on the calling thread, and on every worker that is idle in the
  // meantime. Returns when all these calls have returned.
  void Run(const std::function<void()>& job);

 private:
  explicit WorkerPool(int threads);
  void Work();
  void Post(Job* job, int wanted);
  void Withdraw(Job* job);

  Mutex mutex_;
  ConditionVariable added_;                       // a job
  ConditionVariable left_;                        // a worker has left a job
  std::list<Job*> jobs_ ABSL_GUARDED_BY(mutex_);  // that still take workers
  std::vector<std::thread> workers_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
