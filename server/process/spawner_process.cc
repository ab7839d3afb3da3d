// SPDX-License-Identifier: Apache-2.0
#include "server/process/spawner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/close_descriptors.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/spawner.pb.h"
#include "server/channel/channel.h"
#include "server/process/child_environment.h"
#include "server/process/output_relay.h"
#include "server/process/sandbox/namespaces.h"
#include "server/process/spawner.h"

namespace holdfast {
namespace {

constexpr int kCannotExecute = 127;  // As a shell says it.

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

// Neither end is valid if there are no more descriptors.
Pipe MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // It ended before the line above.
}

void DieWithSpawner(Pipe& lifeline) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  lifeline.writer.Reset();
  pollfd end = {.fd = lifeline.reader.get(), .events = 0};
  // It ended before the first line.
  if (poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0) _exit(0);
}

// When memory runs out, the kernel shall take a child, not the supervisor.
void OfferToOomKiller() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, "500", 3);
  close(fd);
}

// `output` becomes both standard output and error.
void KeepOnlyStandardDescriptorsAnd(int channel, int output) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (channel == kChildChannelFd) {
    fcntl(channel, F_SETFD, 0);
  } else {
    dup2(channel, kChildChannelFd);
  }
  CloseDescriptorsFrom(kChildChannelFd + 1);
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void ExecuteChild(const std::string& executable,
                               const internal::ToSpawner& request,
                               Namespaces own, int channel, int output) {
  // A session of its own has no controlling terminal, so that a child that has
  // been taken over cannot type into the one of a daemon in the foreground.
  setsid();
  OfferToOomKiller();
  KeepOnlyStandardDescriptorsAnd(channel, output);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<std::string> arguments = {"holdfastd"};
  arguments.insert(arguments.end(), request.arguments().begin(),
                   request.arguments().end());
  if (own != Namespaces::kNone) {
    arguments.push_back(
        absl::StrCat("--own-namespaces=", static_cast<int>(own)));
  }
  std::vector<std::string> environment = ChildEnvironment(
      {request.environment().begin(), request.environment().end()});
  execve(executable.c_str(), Pointers(arguments).data(),
         Pointers(environment).data());
  _exit(kCannotExecute);
}

class SpawnerProcess {
 public:
  SpawnerProcess(const std::string& executable, Channel channel)
      : executable_(executable), channel_(std::move(channel)) {}

  // Returns when the supervisor has closed the channel.
  void Run(int child_signals);

 private:
  bool ServeRequest();
  internal::Spawned Spawn(const internal::ToSpawner& request, int channel,
                          UniqueFd* pidfd);
  void ReportExits();

  const std::string& executable_;
  Channel channel_;
  // Its writing end is the spawner's alone, and its other end tells that the
  // spawner is gone, also to a child that does not see its parent's pid.
  Pipe lifeline_ = MakePipe();
  std::map<pid_t, uint64_t> children_;
  OutputRelay outputs_;
};

void SpawnerProcess::Run(int child_signals) {
  while (lifeline_.writer.valid()) {
    std::vector<pollfd> events = {{.fd = channel_.fd(), .events = POLLIN},
                                  {.fd = child_signals, .events = POLLIN}};
    const int limit_ms = outputs_.AppendTo(&events, SteadyNow());
    if (poll(events.data(), events.size(), limit_ms) < 0) {
      if (errno != EINTR) return;
      continue;
    }
    outputs_.Relay(SteadyNow());
    if (events[1].revents != 0) {
      signalfd_siginfo info;
      if (read(child_signals, &info, sizeof info) > 0) ReportExits();
    }
    if (events[0].revents != 0 && !ServeRequest()) break;
  }
  // The last words of children that have ended.
  outputs_.Relay(absl::InfiniteFuture());
}

bool SpawnerProcess::ServeRequest() {
  internal::ToSpawner request;
  absl::StatusOr<UniqueFd> child_channel = channel_.Receive(&request);
  internal::FromSpawner reply;
  UniqueFd pidfd;
  if (child_channel.ok()) {
    *reply.mutable_spawned() = Spawn(request, child_channel->get(), &pidfd);
  } else if (absl::IsResourceExhausted(child_channel.status())) {
    reply.mutable_spawned()->set_child(request.child());
    reply.mutable_spawned()->set_error(
        std::string(child_channel.status().message()));
  } else {
    return false;
  }
  return channel_.Send(reply, pidfd.get()).ok();
}

internal::Spawned SpawnerProcess::Spawn(const internal::ToSpawner& request,
                                        int channel, UniqueFd* pidfd) {
  internal::Spawned spawned;
  spawned.set_child(request.child());
  Pipe output = MakePipe();
  if (!output.writer.valid()) {
    spawned.set_error(absl::StrCat("pipe2: ", strerror(errno)));
    return spawned;
  }
  Namespaces own = Namespaces::kNone;
  const pid_t pid =
      ForkIntoNamespaces(static_cast<Namespaces>(request.namespaces()), &own);
  if (pid == 0) {
    DieWithSpawner(lifeline_);
    ExecuteChild(executable_, request, own, channel, output.writer.get());
  }
  if (pid < 0) {
    spawned.set_error(absl::StrCat("fork: ", strerror(errno)));
    return spawned;
  }
  // Not yet waited for, so the pid is still the child's even if it has ended.
  pidfd->Reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd->valid()) {
    spawned.set_error(absl::StrCat("pidfd_open: ", strerror(errno)));
    kill(pid, SIGKILL);
    return spawned;
  }
  children_[pid] = request.child();
  outputs_.Add(pid, std::move(output.reader));
  spawned.set_pid(pid);
  return spawned;
}

void SpawnerProcess::ReportExits() {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto found = children_.find(pid);
    if (found == children_.end()) continue;
    internal::FromSpawner event;
    internal::Exited& exited = *event.mutable_exited();
    exited.set_child(found->second);
    if (WIFSIGNALED(status)) {
      exited.set_signal(WTERMSIG(status));
    } else {
      exited.set_exit_code(WEXITSTATUS(status));
    }
    children_.erase(found);
    if (!channel_.Send(event).ok()) return;  // Run sees that it is closed.
  }
}

}  // namespace

void RunSpawnerProcess(pid_t supervisor, const std::string& executable,
                       int channel) {
  DieWithParent(supervisor);
  RunExecutedSpawner(executable, channel);
}

void RunExecutedSpawner(const std::string& executable, int channel) {
  prctl(PR_SET_NAME, "holdfast-spawn");
  if (channel != kChildChannelFd) dup2(channel, kChildChannelFd);
  CloseDescriptorsFrom(kChildChannelFd + 1);
  fcntl(kChildChannelFd, F_SETFD, FD_CLOEXEC);
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  const int child_signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_signals >= 0) {
    SpawnerProcess(executable, Channel(UniqueFd(kChildChannelFd)))
        .Run(child_signals);
  }
  _exit(0);
}

}  // namespace holdfast
