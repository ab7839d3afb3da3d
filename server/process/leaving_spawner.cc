// SPDX-License-Identifier: Apache-2.0
#include "server/process/leaving_spawner.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast {

LeavingSpawner& LeavingSpawner::operator=(LeavingSpawner&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(channel_, other.channel_);
  std::swap(children_, other.children_);
  return *this;
}

void LeavingSpawner::End() {
  if (pid_ == 0) return;
  for (const UniqueFd& child : children_) {
    syscall(SYS_pidfd_send_signal, child.get(), SIGKILL, nullptr, 0);
  }
  kill(pid_, SIGKILL);  // Children that are left end with it.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

LeavingSpawner::Descriptors LeavingSpawner::PassOn() {
  pid_ = 0;
  return {std::move(channel_), std::move(children_)};
}

}  // namespace holdfast
