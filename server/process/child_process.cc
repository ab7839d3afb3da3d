// SPDX-License-Identifier: Apache-2.0
#include "server/process/child_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast {

void ChildExit::Set(TerminationReport report) {
  absl::MutexLock lock(&mutex_);
  if (!report_.has_value()) report_ = report;
}

std::optional<TerminationReport> ChildExit::Wait(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(
      absl::Condition(
          +[](const std::optional<TerminationReport>* report) {
            return report->has_value();
          },
          &report_),
      deadline);
  return report_;
}

ChildProcess::~ChildProcess() {
  Kill();
  Wait();
}

void ChildProcess::Kill() {
  syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

void ChildProcess::Freeze() {
  syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGSTOP, nullptr, 0);
}

TerminationReport ChildProcess::Wait() {
  return *exit_->Wait(absl::InfiniteFuture());
}

std::optional<TerminationReport> ChildProcess::Wait(absl::Time deadline) {
  return exit_->Wait(deadline);
}

}  // namespace holdfast
