// SPDX-License-Identifier: Apache-2.0
#include "server/process/successor_spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/argv.h"
#include "core/base/status_macros.h"
#include "holdfast/internal/spawner.pb.h"
#include "server/process/spawner.h"

extern char** environ;

namespace holdfast {
namespace {

bool HasEnded(const HandedProcesses::Child& child) {
  pollfd end = {.fd = child.channel.get(), .events = 0, .revents = 0};
  return poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0;
}

// Waits for the child's first message, which stays in the channel.
absl::Status AwaitMessage(const HandedProcesses::Child& child,
                          absl::Time deadline) {
  const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
  pollfd ready = {.fd = child.channel.get(), .events = POLLIN, .revents = 0};
  const int events = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
  if (events == 0) {
    return absl::DeadlineExceededError(
        absl::StrCat("the process (pid ", child.record.pid(),
                     ") is not ready within the time limit"));
  }
  if (events > 0 && (ready.revents & POLLHUP) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "the process (pid ", child.record.pid(), ") ended before it was ready"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SuccessorSpawner>> SuccessorSpawner::Start(
    const std::string& binary, std::vector<std::string> arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto destroy = absl::MakeCleanup(
      [&actions] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(),
                                   kChildChannelFd);
  arguments.insert(arguments.begin(), "holdfastd");
  pid_t pid = 0;
  const int error = posix_spawn(&pid, binary.c_str(), &actions, nullptr,
                                Argv(arguments).data(), environ);
  if (error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("execute ", binary));
  }
  return std::unique_ptr<SuccessorSpawner>(
      new SuccessorSpawner(pid, std::move(ends.first)));
}

SuccessorSpawner::~SuccessorSpawner() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);  // Its children end with it.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<UniqueFd> SuccessorSpawner::AwaitSpawned(
    internal::HandedChild* child, absl::Time deadline) {
  while (true) {
    internal::FromSpawner event;
    HOLDFAST_ASSIGN_OR_RETURN(UniqueFd process,
                              channel_.Receive(&event, deadline));
    if (!event.has_spawned() || event.spawned().child() != child->child()) {
      continue;
    }
    if (!process.valid()) {
      return absl::UnavailableError(
          absl::StrCat("no process: ", event.spawned().error()));
    }
    child->set_pid(event.spawned().pid());
    return process;
  }
}

absl::Status SuccessorSpawner::StartChild(const Child& child,
                                          absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  internal::ToSpawner request;
  request.set_child(++last_child_);
  request.mutable_arguments()->Add(child.arguments.begin(),
                                   child.arguments.end());
  request.set_namespaces(static_cast<internal::Namespaces>(child.namespaces));
  HandedProcesses::Child started;
  started.record.set_child(last_child_);
  started.record.set_device(child.device);
  *started.record.mutable_arguments() = request.arguments();
  if (child.user->user() != 0) {
    started.record.set_user(child.user->user());
    request.add_arguments(absl::StrCat("--user=", child.user->user()));
  }
  HOLDFAST_RETURN_IF_ERROR(channel_.Send(request, ends.second.get()));
  ends.second.Reset();
  started.channel = std::move(ends.first);
  HOLDFAST_ASSIGN_OR_RETURN(started.process,
                            AwaitSpawned(&started.record, deadline));
  users_.push_back(child.user);
  const absl::Status ready = AwaitMessage(started, deadline);
  if (ready.ok()) {
    children_.push_back(std::move(started));
  } else {
    syscall(SYS_pidfd_send_signal, started.process.get(), SIGKILL, nullptr, 0);
  }
  return ready;
}

void SuccessorSpawner::DropEnded() { std::erase_if(children_, HasEnded); }

size_t SuccessorSpawner::ready() {
  DropEnded();
  return children_.size();
}

HandedProcesses SuccessorSpawner::HandOver() {
  DropEnded();
  HandedProcesses handed;
  handed.spawner = std::exchange(pid_, 0);
  handed.channel.Reset(fcntl(channel_.fd(), F_DUPFD_CLOEXEC, 0));
  handed.children = std::move(children_);
  return handed;
}

}  // namespace holdfast
