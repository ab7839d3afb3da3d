// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/compile/compile_caller.h"
#include "server/compile/compile_queue.h"
#include "server/compile/compiler_worker.h"
#include "server/counters/duration_histogram.h"

namespace holdfast {

// A pool of compiler processes, which run at most `workers` jobs at a time. A
// process is started when a job needs it, and kept until it fails or has run
// `max_jobs` jobs. Another process replaces it in the background. Thread-safe.
//
// Run waits in the CompileQueue, takes an idle worker or starts one, and puts
// the worker back after the job.
class CompilerPool {
 public:
  struct Options {
    // Starts a process that runs CompilerMain. Called by any thread.
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()> start;
    // The most concurrent jobs.
    size_t workers = 1;
    size_t max_queue = 128;  // requests that may wait for a worker
    size_t max_jobs = 500;   // of one process, to bound leaks
    // The limit for one job, without its wait in the queue.
    absl::Duration time_limit = absl::Minutes(1);
    // The installed compilers, if they are known before the first worker
    // starts.
    internal::Installation installation;
    // Called with the installation that a new worker has loaded.
    std::function<void(const internal::Installation&)> on_start;
  };

  // Starts no worker yet.
  explicit CompilerPool(Options options);
  // Ends all workers. REQUIRES: no call runs.
  ~CompilerPool();

  // Starts one worker before the first request, and blocks until it is ready.
  // Fails as CompilerWorker::Create, and as Options::start.
  absl::Status Prestart();

  // The compilers of the latest worker, such as "NVRTC 13.0, nvJitLink 13.0";
  // empty if no worker has started yet.
  std::string backend() const;
  // The sandbox of the latest worker, for messages; empty like backend().
  std::string confinement() const;

  using Installed = std::shared_ptr<const internal::Installation>;

  // Returns the installation that the latest worker has reported, or else the
  // installation of Options. If neither is known, starts the first worker, and
  // blocks and fails as Prestart. The identity in the result is empty if it
  // cannot be determined.
  absl::StatusOr<Installed> Installation();

  // Like Installation, without blocking. The identity in the result is also
  // empty if it is not known yet.
  Installed KnownInstallation() const;

  // Makes the descriptor to send with a job. The contents may be large, so it
  // is made only when the job starts.
  using Parts = std::function<absl::StatusOr<UniqueFd>()>;

  // Blocks until the caller's turn, runs the job in a worker, and blocks until
  // its end. Calls `parts`, unless it is null, each time when the job starts.
  // The worker's time is charged to the caller's budget. A job that is recalled
  // in favour of another client starts again later. RESOURCE_EXHAUSTED: the
  // queue is full, or the budget is used up. Otherwise fails as Prestart and as
  // CompilerWorker::Run.
  absl::StatusOr<CompilerWorker::Result> Run(const CompileCaller& caller,
                                             const internal::ToCompiler& job,
                                             const Parts& parts = nullptr);

  struct Statistics {
    size_t waiting = 0;  // requests that wait for a worker
    size_t max_waiting = 0;
    // Since the daemon's start. A source with errors counts as failed.
    uint64_t done = 0;
    uint64_t failed = 0;
    uint64_t workers_lost = 0;
  };
  Statistics statistics() const;
  // The times that workers took, one sample per job.
  const DurationHistogram& durations() const { return durations_; }

 private:
  using Worker = std::unique_ptr<CompilerWorker>;

  // Runs the job in a worker. REQUIRES: the caller has a turn.
  absl::StatusOr<CompilerWorker::Result> RunNow(const CompileCaller& caller,
                                                const internal::ToCompiler& job,
                                                const Parts& parts);
  // Takes an idle worker, or starts one.
  absl::StatusOr<Worker> Acquire();
  // Returns nullptr if no worker is idle. Waits for a worker that the replacer
  // is starting, unless another call waits for it.
  Worker TakeIdle();
  void Release(Worker worker);
  // Counts a job that has ended.
  void Count(const absl::Status& status, bool lost, absl::Duration time);
  absl::StatusOr<Worker> Start();
  void Replace();  // runs in replacer_

  const Options options_;
  CompileQueue queue_;
  DurationHistogram durations_;
  mutable absl::Mutex mutex_;
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);  // the sums
  std::string backend_ ABSL_GUARDED_BY(mutex_);
  Installed installation_ ABSL_GUARDED_BY(mutex_);  // never null
  std::string confinement_ ABSL_GUARDED_BY(mutex_);
  std::vector<Worker> idle_ ABSL_GUARDED_BY(mutex_);
  size_t lost_ ABSL_GUARDED_BY(mutex_) = 0;      // workers to replace
  size_t promised_ ABSL_GUARDED_BY(mutex_) = 0;  // of lost_, for waiting calls
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread replacer_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_
