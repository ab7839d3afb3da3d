// SPDX-License-Identifier: Apache-2.0
#include "server/process/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/process/spawner_process.h"

namespace holdfast {
namespace {

absl::Status SpawnerGone() {
  return absl::UnavailableError(
      "the daemon's spawner process has died; restart the daemon");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spawner>> Spawner::Create(
    const Options& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  const pid_t supervisor = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork the spawner");
  if (pid == 0) {
    RunSpawnerProcess(supervisor, options.executable, ends.second.Release());
  }
  std::unique_ptr<Spawner> spawner(
      new Spawner(pid, Channel(std::move(ends.first)), options.users));
  spawner->Start();
  return spawner;
}

absl::StatusOr<std::unique_ptr<Spawner>> Spawner::Adopt(
    HandedProcesses handed, std::shared_ptr<UserRange> users) {
  pollfd end = {.fd = handed.channel.get(), .events = 0, .revents = 0};
  if (poll(&end, 1, 0) != 0) {
    while (waitpid(handed.spawner, nullptr, 0) < 0 && errno == EINTR) {
    }
    return absl::UnavailableError(
        absl::StrCat("the spawner (pid ", handed.spawner,
                     ") that the daemon before has started has ended"));
  }
  std::unique_ptr<Spawner> spawner(new Spawner(
      handed.spawner, Channel(std::move(handed.channel)), std::move(users)));
  for (HandedProcesses::Child& child : handed.children) {
    spawner->Adopt(std::move(child));
  }
  spawner->Start();
  return spawner;
}

void Spawner::Adopt(HandedProcesses::Child child) {
  const auto number = child.record.child();
  const auto pid = static_cast<pid_t>(child.record.pid());
  auto user = std::make_shared<const UserRange::Lease>(
      UserRange::TakeBack(users_, child.record.user()));
  absl::MutexLock lock(&mutex_);
  last_child_ = std::max(last_child_, number);
  if (!MayUse(*user) || user->user() != child.record.user()) {
    syscall(SYS_pidfd_send_signal, child.process.get(), SIGKILL, nullptr, 0);
    return;
  }
  auto adopted = std::make_shared<Child>();
  adopted->answered = true;
  adopted->pid = pid;
  adopted->pidfd.Reset(fcntl(child.process.get(), F_DUPFD_CLOEXEC, 0));
  adopted->user = std::move(user);
  children_[number] = adopted;
  adopted_.push_back({std::move(child.record),
                      std::make_unique<ChildProcess>(
                          pid, std::move(child.process),
                          Channel(std::move(child.channel)), adopted->exit)});
}

Spawner::Spawner(pid_t pid, Channel channel, std::shared_ptr<UserRange> users)
    : pid_(pid), channel_(std::move(channel)), users_(std::move(users)) {}

void Spawner::Start() {
  reader_ = std::thread([this] { ReadEvents(); });
}

Spawner::~Spawner() {
  OnGone(nullptr);
  channel_.Shutdown();  // At which the spawner exits.
  reader_.join();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Spawner::Kill() {
  kill(pid_, SIGKILL);
  waitid(P_PID, static_cast<id_t>(pid_), nullptr, WEXITED);
}

LeavingSpawner Spawner::LeaveBehind() {
  absl::MutexLock lock(&mutex_);
  std::vector<UniqueFd> stopped;
  for (const auto& [number, child] : children_) {
    if (!child->pidfd.valid()) continue;
    syscall(SYS_pidfd_send_signal, child->pidfd.get(), SIGSTOP, nullptr, 0);
    stopped.push_back(std::move(child->pidfd));
  }
  return {pid_, UniqueFd(fcntl(channel_.fd(), F_DUPFD_CLOEXEC, 0)),
          std::move(stopped)};
}

absl::StatusOr<std::unique_ptr<ChildProcess>> Spawner::Spawn(
    const std::vector<std::string>& arguments, const SpawnOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Child> child,
                            Request(arguments, options, ends.second.get()));
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&child->answered));
  HOLDFAST_RETURN_IF_ERROR(child->status);
  UniqueFd second(fcntl(child->pidfd.get(), F_DUPFD_CLOEXEC, 0));
  std::swap(child->pidfd, second);
  return std::make_unique<ChildProcess>(child->pid, std::move(second),
                                        Channel(std::move(ends.first)),
                                        child->exit);
}

absl::StatusOr<std::shared_ptr<Spawner::Child>> Spawner::Request(
    const std::vector<std::string>& arguments, const SpawnOptions& options,
    int child_channel) {
  internal::ToSpawner request;
  for (const std::string& argument : arguments) {
    request.add_arguments(argument);
  }
  request.set_namespaces(static_cast<internal::Namespaces>(options.namespaces));
  request.mutable_environment()->Add(options.environment.begin(),
                                     options.environment.end());
  auto child = std::make_shared<Child>();
  child->user = options.user != nullptr ? options.user : TakeUser();
  if (!MayUse(*child->user)) {
    return absl::ResourceExhaustedError(
        "no user of --user-range is free for another process");
  }
  if (child->user->user() != 0) {
    request.add_arguments(absl::StrCat("--user=", child->user->user()));
  }
  absl::MutexLock lock(&mutex_);
  if (gone_) return SpawnerGone();
  request.set_child(++last_child_);
  HOLDFAST_RETURN_IF_ERROR(channel_.Send(request, child_channel));
  children_[request.child()] = child;
  return child;
}

void Spawner::ReadEvents() {
  while (true) {
    internal::FromSpawner event;
    absl::StatusOr<UniqueFd> fd = channel_.Receive(&event);
    // Without a descriptor left, one process is not started.
    if (!fd.ok() && !absl::IsResourceExhausted(fd.status())) {
      return OnSpawnerGone();
    }
    if (event.has_spawned()) OnSpawned(event.spawned(), std::move(fd));
    if (event.has_exited()) OnExited(event.exited());
  }
}

void Spawner::OnSpawned(const internal::Spawned& spawned,
                        absl::StatusOr<UniqueFd> pidfd) {
  absl::MutexLock lock(&mutex_);
  const auto found = children_.find(spawned.child());
  if (found == children_.end()) return;
  Child& child = *found->second;
  if (child.answered) return;
  child.pid = static_cast<pid_t>(spawned.pid());
  child.answered = true;
  const absl::Status taken = pidfd.status();
  if (taken.ok()) child.pidfd = *std::move(pidfd);
  if (!spawned.error().empty()) {
    child.status = absl::UnavailableError(spawned.error());
    children_.erase(found);
  } else if (!taken.ok()) {
    // It ends by itself when Spawn closes its channel.
    child.status = taken;
    children_.erase(found);
  } else if (!child.pidfd.valid()) {
    child.status = absl::UnavailableError(absl::StrCat(
        "the spawner sent no descriptor of process ", spawned.pid()));
    children_.erase(found);
  }
}

void Spawner::OnExited(const internal::Exited& exited) {
  using Cause = TerminationReport::Cause;
  const TerminationReport report =
      exited.signal() != 0
          ? TerminationReport{Cause::kSignaled, exited.signal()}
          : TerminationReport{Cause::kExited, exited.exit_code()};
  absl::MutexLock lock(&mutex_);
  const auto found = children_.find(exited.child());
  if (found == children_.end()) return;
  Child& child = *found->second;
  if (!child.answered) {  // Or Spawn would wait for ever.
    child.status = absl::UnavailableError(
        absl::StrCat("the process ", report.ToString(), " unannounced"));
    child.answered = true;
  }
  child.exit->Set(report);
  children_.erase(found);
}

void Spawner::OnSpawnerGone() {
  absl::MutexLock lock(&mutex_);
  gone_ = true;
  // First: it may end this process before anybody hears of children that ended
  // with the spawner.
  if (on_gone_) std::exchange(on_gone_, nullptr)();
  for (auto& [id, child] : children_) {
    if (!child->answered) child->status = SpawnerGone();
    child->answered = true;
    child->exit->Set(TerminationReport());
  }
  children_.clear();
}

void Spawner::OnGone(std::function<void()> callback) {
  absl::MutexLock lock(&mutex_);
  on_gone_ = std::move(callback);
  if (gone_ && on_gone_) std::exchange(on_gone_, nullptr)();
}

}  // namespace holdfast
