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
#include "server/telemetry/duration_histogram.h"

namespace holdfast {

// A fixed number of compiler processes, each started when it is needed and
// kept until it fails or has run many jobs; one that was lost is replaced in
// the background. Thread-safe.
//
// Run waits in the CompileQueue, takes an idle worker or starts one, and gives
// it back when the job is done.
class CompilerPool {
 public:
  struct Options {
    // Starts a process that runs CompilerMain. Called by any thread.
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()> start;
    // Jobs that run at once.
    size_t workers = 1;
    size_t max_queue = 128;  // requests that may wait for a worker
    size_t max_jobs = 500;   // of one process: a leak cannot grow for ever
    // For one job, without its wait in the queue.
    absl::Duration time_limit = absl::Minutes(1);
    // If it is known before the first worker has started.
    internal::Installation installation;
    // Called with what a new worker has loaded.
    std::function<void(const internal::Installation&)> on_start;
  };

  // Starts no worker yet.
  explicit CompilerPool(Options options);
  ~CompilerPool();

  // Starts one worker ahead of its first request. UNAVAILABLE: no compiler.
  absl::Status Prestart();

  // "NVRTC 13.0, nvJitLink 13.0"; empty if no worker could ever be started.
  std::string backend() const;
  // The workers' sandbox, for people.
  std::string confinement() const;

  using Installed = std::shared_ptr<const internal::Installation>;

  // Returns the installation as the worker that was started last describes it,
  // or as it was known before; starts the first worker if neither is there.
  // Without identity: it cannot be found out. Errors as Run has them.
  absl::StatusOr<Installed> Installation();

  // The same without waiting; without identity if it is not known, or not yet.
  Installed KnownInstallation() const;

  // Makes the descriptor that goes with a job, which may be large.
  using Parts = std::function<absl::StatusOr<UniqueFd>()>;

  // Waits for the caller's turn and has a worker do the job; `parts`, if any,
  // is called when it has come. The time of the worker is charged to the
  // caller's budget. A job that is ended for another client who would wait for
  // this one's compilations alone begins again later. RESOURCE_EXHAUSTED: the
  // queue is full, or the budget does not allow it; else see
  // CompilerWorker::Run.
  absl::StatusOr<CompilerWorker::Result> Run(const CompileCaller& caller,
                                             const internal::ToCompiler& job,
                                             const Parts& parts = nullptr);

  struct Statistics {
    size_t waiting = 0;  // requests that wait for a worker
    size_t max_waiting = 0;
    // Since the daemon's start; a source with errors has failed.
    uint64_t done = 0;
    uint64_t failed = 0;
    uint64_t workers_lost = 0;
  };
  Statistics statistics() const;
  // The time that workers took, one sample a job.
  const DurationHistogram& durations() const { return durations_; }

 private:
  using Worker = std::unique_ptr<CompilerWorker>;

  // REQUIRES: it is the caller's turn.
  absl::StatusOr<CompilerWorker::Result> RunNow(const CompileCaller& caller,
                                                const internal::ToCompiler& job,
                                                const Parts& parts);
  absl::StatusOr<Worker> Acquire();
  Worker TakeIdle();
  void Release(Worker worker);
  // A worker has ended a job.
  void Count(const absl::Status& status, bool lost, absl::Duration time);
  absl::StatusOr<Worker> Start();
  void Replace();  // in its own thread

  const Options options_;
  CompileQueue queue_;
  DurationHistogram durations_;
  mutable absl::Mutex mutex_;
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);  // the sums
  std::string backend_ ABSL_GUARDED_BY(mutex_);
  Installed installation_ ABSL_GUARDED_BY(mutex_);  // never null
  std::string confinement_ ABSL_GUARDED_BY(mutex_);
  std::vector<Worker> idle_ ABSL_GUARDED_BY(mutex_);
  size_t lost_ ABSL_GUARDED_BY(mutex_) = 0;      // to be replaced
  size_t promised_ ABSL_GUARDED_BY(mutex_) = 0;  // of these, to who waits
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread replacer_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_
