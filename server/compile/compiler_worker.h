// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_WORKER_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_WORKER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/compile.pb.h"
#include "server/compile/compile_caller.h"
#include "server/process/child_process.h"

namespace holdfast {

// The daemon's side of one compiler process. Not thread-safe.
class CompilerWorker {
 public:
  struct Result {
    v1::CompileResponse response;  // without the hash of the object
    UniqueFd object;               // the object's bytes; not checked
    std::string identity;          // of the compiler that made it
  };

  // Blocks until the process has loaded the compilers, for at most a minute.
  // UNAVAILABLE: the process has ended or did not report in time, and was
  // killed. Other errors come from loading the compilers.
  static absl::StatusOr<std::unique_ptr<CompilerWorker>> Create(
      std::unique_ptr<ChildProcess> process);

  // Returns the compilers' versions: "NVRTC 13.0, nvJitLink 13.0, libNVVM 2.0".
  const std::string& backend() const { return backend_; }

  // Returns the compilers that the process has loaded.
  const internal::Installation& installation() const { return installation_; }

  // Returns a description of the process's sandbox.
  const std::string& confinement() const { return confinement_; }

  // Returns the number of jobs that were started.
  size_t jobs() const { return jobs_; }

  // Runs one job and blocks until its end. `fd` is the job's descriptor, which
  // is borrowed; -1: none. Kills the process at the time limit, or when the
  // caller has gone. Fails as the compiler does (see CompileService), or with:
  //  DEADLINE_EXCEEDED: the job took more than its time or processor time.
  //  CANCELLED: the caller has gone.
  //  RESOURCE_EXHAUSTED: the process needs more memory than it may have, or the
  //    daemon is at its limit of descriptors.
  //  UNAVAILABLE: the process did not take the job.
  //  ABORTED: the compiler crashed. The last 4 KiB of its stderr are the log of
  //    the ErrorDetail.
  absl::StatusOr<Result> Run(const internal::ToCompiler& job, int fd,
                             absl::Duration time_limit,
                             const CompileCaller& caller);

  // Returns false once the process has ended, was killed, or is about to end.
  bool usable() const {
    return usable_ && !process_->Wait(absl::InfinitePast()).has_value();
  }

  // Returns true if the process ended, or was killed, during its last job.
  bool lost() const { return lost_; }

 private:
  CompilerWorker(std::unique_ptr<ChildProcess> process, UniqueFd stderr_memory,
                 const internal::CompilerReady& ready)
      : process_(std::move(process)),
        stderr_memory_(std::move(stderr_memory)),
        backend_(ready.backend()),
        installation_(ready.installation()),
        confinement_(ready.confinement()) {}

  // Waits for the reply, and returns its descriptor. Checks whether the caller
  // has gone every kCallerInterval.
  absl::StatusOr<UniqueFd> Await(internal::FromCompiler* reply,
                                 absl::Duration time_limit,
                                 const CompileCaller& caller);

  // Returns the error of a job that the process did not get. `sent` is the
  // error of the channel. Ends the process if it is gone or does not read.
  absl::Status NotSent(const absl::Status& sent, absl::Duration time_limit);

  // Returns the error of a process that did not answer, and ends the process.
  // `received` is the error of the channel.
  absl::Status Failure(const absl::Status& received, absl::Duration time_limit);

  // Returns the last 4 KiB of the process's stderr during this job.
  std::string LastWords() const;
  absl::Status Crash(const TerminationReport& report) const;

  const std::unique_ptr<ChildProcess> process_;
  const UniqueFd stderr_memory_;  // a memfd, the process's stderr
  const std::string backend_;
  const internal::Installation installation_;
  const std::string confinement_;
  size_t jobs_ = 0;
  bool usable_ = true;
  bool lost_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_WORKER_H_
