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

// The worker threads that run blocks, which all streams share. Together with a
// calling thread, they are as many as ThreadCount says. Thread-safe.
class WorkerPool {
  struct Job {
    const std::function<void()>* function;
    int running = 0;
    bool posted = false;  // true: idle workers may still join the job
  };

 public:
  // Calls workers to a job whenever the job has work for them. Not thread-safe,
  // but workers call the job concurrently.
  class Helpers {
   public:
    // `job` must do the available work and then return. Workers call it
    // concurrently. REQUIRES: `pool` outlives this object.
    Helpers(WorkerPool& pool, std::function<void()> job)
        : pool_(pool), function_(std::move(job)), job_{&function_} {}
    // Blocks until no worker runs the job.
    ~Helpers() {
      if (called_) pool_.Withdraw(&job_);
    }
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    // Wakes up to `count` idle workers for the job. Does nothing if workers may
    // still join the job after an earlier call. Does not block.
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

  // Returns the pool of the process, which the first call starts. The pool
  // lives as long as the process. If the system allows fewer threads, it has
  // fewer workers.
  static WorkerPool& Get();

  // The largest number of threads that run one job, including the caller.
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `job` on the calling thread, and on each worker that is idle
  // meanwhile. Blocks until all these calls have returned.
  void Run(const std::function<void()>& job);

 private:
  explicit WorkerPool(int threads);
  void Work();
  void Post(Job* job, int wanted);
  void Withdraw(Job* job);

  Mutex mutex_;
  ConditionVariable added_;                       // a job was added
  ConditionVariable left_;                        // a worker has left a job
  std::list<Job*> jobs_ ABSL_GUARDED_BY(mutex_);  // jobs that workers may join
  std::vector<std::thread> workers_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WORKER_POOL_H_
