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

// The end of one child process. The reader thread of Spawner sets it once.
// Thread-safe.
class ChildExit {
 public:
  void Set(TerminationReport report);
  // nullopt: still running at the deadline.
  std::optional<TerminationReport> Wait(absl::Time deadline) const;

 private:
  mutable absl::Mutex mutex_;
  std::optional<TerminationReport> report_ ABSL_GUARDED_BY(mutex_);
};

// A child process of the daemon, and the channel to it. Spawner makes these
// objects; an object learns the end of its process only while the Spawner
// exists. Thread-safe.
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

  // Sends SIGKILL. Has no effect on a process that has ended, even if its pid
  // was reused.
  void Kill();
  // Sends SIGSTOP. The process then does not run, and keeps its resources until
  // Kill.
  void Freeze();

  // Blocks until the process has ended. Several threads may wait, and
  // repeatedly.
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
