// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"
#include "server/compile/compiler_worker.h"

namespace holdfast {

// A fixed number of compiler processes, each started when it is needed and
// kept until it fails. Thread-safe.
class CompilerPool {
 public:
  struct Options {
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()> start;
    size_t workers = 1;
    size_t max_queue = 64;  // requests that may wait for a worker
    absl::Duration time_limit = absl::Minutes(1);
  };

  explicit CompilerPool(Options options) : options_(std::move(options)) {}

  // Starts one worker ahead of its first request. UNAVAILABLE: no compiler.
  absl::Status Prestart();

  // "NVRTC 13.0"; empty if no worker could ever be started.
  std::string backend() const;

  // Of the worker that was started last, see CompilerWorker; starts the first
  // one if there was none. Errors as Compile has them.
  absl::StatusOr<std::string> Identity();

  // Waits for a worker and has it do the job. RESOURCE_EXHAUSTED: the queue is
  // full; else see CompilerWorker::Run.
  absl::StatusOr<CompilerWorker::Result> Run(const internal::ToCompiler& job,
                                             int fd = -1);

 private:
  absl::StatusOr<std::unique_ptr<CompilerWorker>> Acquire();
  void Release(std::unique_ptr<CompilerWorker> worker);
  absl::StatusOr<std::unique_ptr<CompilerWorker>> Start();

  const Options options_;
  mutable absl::Mutex mutex_;
  std::string backend_ ABSL_GUARDED_BY(mutex_);
  std::string identity_ ABSL_GUARDED_BY(mutex_);
  size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<CompilerWorker>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_POOL_H_
