// SPDX-License-Identifier: Apache-2.0
#include "server/process/spawner.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
  return std::unique_ptr<Spawner>(
      new Spawner(pid, Channel(std::move(ends.first)), options.users));
}

Spawner::Spawner(pid_t pid, Channel channel, std::shared_ptr<UserRange> users)
    : pid_(pid), channel_(std::move(channel)), users_(std::move(users)) {
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

absl::StatusOr<std::unique_ptr<ChildProcess>> Spawner::Spawn(
    const std::vector<std::string>& arguments, const SpawnOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Child> child,
                            Request(arguments, options, ends.second.get()));
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&child->answered));
  HOLDFAST_RETURN_IF_ERROR(child->status);
  return std::make_unique<ChildProcess>(child->pid, std::move(child->pidfd),
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
  if (users_ != nullptr && child->user->user() == 0) {
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
    if (!fd.ok()) return OnSpawnerGone();
    if (event.has_spawned()) OnSpawned(event.spawned(), *std::move(fd));
    if (event.has_exited()) OnExited(event.exited());
  }
}

void Spawner::OnSpawned(const internal::Spawned& spawned, UniqueFd pidfd) {
  absl::MutexLock lock(&mutex_);
  const auto found = children_.find(spawned.child());
  if (found == children_.end()) return;
  Child& child = *found->second;
  if (child.answered) return;
  child.pid = static_cast<pid_t>(spawned.pid());
  child.pidfd = std::move(pidfd);
  child.answered = true;
  if (!spawned.error().empty()) {
    child.status = absl::UnavailableError(spawned.error());
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
