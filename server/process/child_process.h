// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_CHILD_PROCESS_H_
#define HOLDFAST_SERVER_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/channel/channel.h"
#include "server/process/termination_report.h"

namespace holdfast {

// The end of one child, as the spawner's thread reports it. Set once;
// thread-safe.
class ChildExit {
 public:
  void Set(TerminationReport report);
  // nullopt: still running at the deadline.
  std::optional<TerminationReport> Wait(absl::Time deadline) const;

 private:
  mutable absl::Mutex mutex_;
  std::optional<TerminationReport> report_ ABSL_GUARDED_BY(mutex_);
};

// A process of the daemon, and the channel to it. Made by Spawner, which it
// must not outlive if its end is to be learnt. Thread-safe.
class ChildProcess {
 public:
  ChildProcess(pid_t pid, UniqueFd pidfd, Channel channel,
               std::shared_ptr<const ChildExit> exit)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        channel_(std::move(channel)),
        exit_(std::move(exit)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Kills the process if it still runs, and waits for its end.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  Channel& channel() { return channel_; }

  // SIGKILL; no effect on a process that has ended, whoever has its pid now.
  void Kill();
  // SIGSTOP: it does nothing any more and keeps what it has, until Kill.
  void Freeze();

  // Blocks until it has ended. Any number of threads may wait, and any number
  // of times.
  TerminationReport Wait();
  // nullopt: still running at the deadline.
  std::optional<TerminationReport> Wait(absl::Time deadline);

 private:
  const pid_t pid_;
  const UniqueFd pidfd_;
  Channel channel_;
  const std::shared_ptr<const ChildExit> exit_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_CHILD_PROCESS_H_
