// SPDX-License-Identifier: Apache-2.0
//
// The new keeper is a child of the daemon, not its parent. It sees the daemon's
// end by a pidfd, and is the parent of the next daemon, which it starts as any
// keeper does. The daemon makes the keeper's socket itself: descriptors can be
// sent before the keeper's program has begun, and no answer is awaited.
#include "server/restart/keeper_watch.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/argv.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/restart/arguments.h"
#include "server/restart/environment.h"
#include "server/restart/keeper_handover.h"
#include "server/service_manager/notify.h"

namespace holdfast {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(50);

// The binary of this process, even if another file has its path by now: it is
// sure to know how a daemon is adopted.
constexpr char kOwnBinary[] = "/proc/self/exe";

std::vector<std::string> KeeperArguments(std::vector<std::string> arguments) {
  SetFlag("--keeper", /*takes_value=*/false, "true", &arguments);
  return arguments;
}

// Starts `daemon`'s keeper, which gets its two descriptors. The signals that
// the daemon has blocked wait until the keeper takes them.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments,
                            const AdoptedDaemon& daemon) {
  const std::vector<std::string> environment =
      EnvironmentWith(daemon.Variable());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto destroy = absl::MakeCleanup(
      [&actions] { posix_spawn_file_actions_destroy(&actions); });
  for (const int fd : {daemon.process.get(), daemon.socket.fd.get()}) {
    // To its own number: the child does not close it.
    posix_spawn_file_actions_adddup2(&actions, fd, fd);
  }
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, kOwnBinary, &actions, nullptr, Argv(arguments).data(),
                  Argv(environment).data());
  if (error != 0) return absl::ErrnoToStatus(error, "execute a keeper");
  return pid;
}

}  // namespace

KeeperWatch::KeeperWatch(UniqueFd keeper, std::vector<std::string> arguments,
                         DescriptorStore& store)
    : keeper_(std::move(keeper)),
      arguments_(KeeperArguments(std::move(arguments))),
      store_(store),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

KeeperWatch::~KeeperWatch() { Stop(); }

void KeeperWatch::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void KeeperWatch::PassOn() {
  Stop();
  setenv("NOTIFY_SOCKET", ServiceManagerAddress().c_str(), /*overwrite=*/1);
  PassKeeperOn(keeper_.get());
}

bool KeeperWatch::AwaitEnd() {
  while (true) {
    pollfd events[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                       {.fd = keeper_.get(), .events = POLLIN, .revents = 0}};
    if (poll(events, 2, -1) < 0) continue;
    if (events[0].revents != 0) return false;
    if (events[1].revents != 0) return true;
  }
}

bool KeeperWatch::Sleep(absl::Duration time) {
  pollfd stop = {.fd = stop_.get(), .events = POLLIN, .revents = 0};
  return poll(&stop, 1, static_cast<int>(absl::ToInt64Milliseconds(time))) <= 0;
}

void KeeperWatch::Run() {
  std::deque<absl::Time> starts;
  while (AwaitEnd()) {
    siginfo_t info = {};
    // It was this daemon's child unless it has started this daemon.
    waitid(P_PIDFD, static_cast<id_t>(keeper_.get()), &info, WEXITED | WNOHANG);
    LogWarning("the keeper has died; another one is started");
    if (starts.size() == kMaxStarts) {
      if (SteadyNow() - starts.front() < kStartTime) {
        LogError(kMaxStarts, " keepers have failed within ",
                 absl::FormatDuration(kStartTime),
                 ": sessions would not survive this daemon");
        return;
      }
      starts.pop_front();
    }
    starts.push_back(SteadyNow());
    const auto kept = store_.MoveTo([this] { return StartKeeper(); });
    if (kept.ok()) {
      LogInfo("another keeper has ", *kept, " descriptors");
      continue;
    }
    LogWarning("no keeper: ", kept.status().message());
    // One that has only a part would start the next daemon with that.
    syscall(SYS_pidfd_send_signal, keeper_.get(), SIGKILL, nullptr, 0);
    if (!Sleep(kPause)) return;
  }
}

absl::Status KeeperWatch::StartKeeper() {
  AdoptedDaemon self;
  self.pid = getpid();
  self.process = OpenProcess(self.pid);
  if (!self.process.valid()) {
    return absl::ErrnoToStatus(errno, "pidfd_open of the daemon");
  }
  HOLDFAST_ASSIGN_OR_RETURN(self.socket, KeeperSocket::Create());
  HOLDFAST_ASSIGN_OR_RETURN(const pid_t pid, Spawn(arguments_, self));
  UniqueFd keeper = OpenProcess(pid);
  if (!keeper.valid()) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return absl::ErrnoToStatus(error, "pidfd_open of the keeper");
  }
  keeper_ = std::move(keeper);
  SetServiceManager(self.socket.address);
  return absl::OkStatus();
}

}  // namespace holdfast
