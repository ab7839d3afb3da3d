// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/mps_servers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "core/base/utf8.h"

namespace holdfast::supervisor {
namespace {

constexpr char kControlDaemon[] = "nvidia-cuda-mps-control";

// For a control daemon to open its pipes.
constexpr absl::Duration kStartTime = absl::Seconds(10);
constexpr absl::Duration kPause = absl::Milliseconds(20);

// Bytes of a log that an error has.
constexpr off_t kLogEnd = 400;

absl::Status Ending() {
  return absl::UnavailableError("the daemon is stopping");
}

// The pipe that clients of a control daemon connect to.
bool IsServed(const std::string& pipes) {
  std::error_code error;
  return std::filesystem::exists(pipes + "/control", error);
}

absl::Status MakeDirectory(const std::string& path, mode_t mode) {
  // Not as the umask would have it.
  if (mkdir(path.c_str(), mode) == 0 && chmod(path.c_str(), mode) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("make ", path));
}

void Remove(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
}

absl::Status MakePipesAndLog(const std::string& directory) {
  if (chmod(directory.c_str(), 0711) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make ", directory));
  }
  HOLDFAST_RETURN_IF_ERROR(MakeDirectory(directory + "/pipe", 0711));
  return MakeDirectory(directory + "/log", 01733);
}

// A new directory `prefix`XXXXXX with `pipe` and `log` in it. The group's
// server and executors may have a user of their own, which has to reach the
// pipes and to write the log.
absl::StatusOr<std::string> MakeDirectories(const std::string& prefix) {
  std::string directory = prefix + "XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make ", directory));
  }
  const absl::Status made = MakePipesAndLog(directory);
  if (made.ok()) return directory;
  Remove(directory);
  return made;
}

// Every user can write to the log's directory, and clients get this text: it is
// read only from a file that this user has made there.
std::string EndOfLog(const std::string& path) {
  const UniqueFd file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      info.st_nlink != 1) {
    return "";
  }
  std::string text(kLogEnd, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(),
                             std::max<off_t>(0, info.st_size - kLogEnd));
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  return ToValidUtf8(absl::StripAsciiWhitespace(text));
}

}  // namespace

// A control daemon that was started here, with the directory of its pipes and
// log. Its end is that of its server and of the directory, too.
class MpsServers::ControlDaemon {
 public:
  ControlDaemon(std::string directory, std::unique_ptr<ChildProcess> process,
                absl::Duration end_time)
      : directory_(std::move(directory)),
        process_(std::move(process)),
        end_time_(end_time) {}
  ~ControlDaemon() { End(absl::Now() + end_time_); }

  const std::string& pipes() const { return pipes_; }
  pid_t pid() const { return process_->pid(); }
  bool Runs() { return !process_->Wait(absl::InfinitePast()).has_value(); }

  // Waits until clients can connect. Returns why they cannot.
  absl::Status AwaitPipes() {
    const absl::Time deadline = SteadyNow() + kStartTime;
    while (!IsServed(pipes_)) {
      const auto ended = process_->Wait(absl::Now() + kPause);
      if (!ended.has_value() && SteadyNow() < deadline) continue;
      const std::string log = EndOfLog(directory_ + "/log/control.log");
      return absl::UnavailableError(absl::StrCat(
          ended.has_value() ? ended->ToString() : "did not open its pipes",
          log.empty() ? "; it has written no log" : "; its log ends with: ",
          log));
    }
    return absl::OkStatus();
  }

  // No effect if it has ended: its server may have clients that go on, and its
  // process group's number may be another's.
  void AskToEnd() {
    if (asked_ || !Runs()) return;
    asked_ = true;
    kill(-pid(), SIGTERM);
  }

  // Killed at the deadline.
  void End(absl::Time deadline) {
    AskToEnd();
    if (std::exchange(asked_, false)) {
      process_->Wait(deadline);
      kill(-pid(), SIGKILL);  // The server, if it is left.
    }
    process_->Kill();
    process_->Wait();
    Remove(directory_);
  }

 private:
  const std::string directory_;
  const std::string pipes_ = directory_ + "/pipe";
  const std::unique_ptr<ChildProcess> process_;
  const absl::Duration end_time_;
  bool asked_ = false;
};

void MpsServers::End() {
  absl::MutexLock lock(&mutex_);
  ended_ = true;
  std::vector<std::shared_ptr<ControlDaemon>> daemons;
  for (const auto& started : std::exchange(started_, {})) {
    auto daemon = started.lock();
    if (daemon != nullptr) daemons.push_back(std::move(daemon));
  }
  for (const auto& daemon : daemons) daemon->AskToEnd();
  const absl::Time deadline = absl::Now() + options_.end_time;
  for (const auto& daemon : daemons) daemon->End(deadline);
}

std::string MpsServers::FindControlDaemon(const std::string& path) {
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    if (directory.empty()) continue;
    std::string file = absl::StrCat(directory, "/", kControlDaemon);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

absl::StatusOr<MpsServers::Pipes> MpsServers::PipeDirectory(
    const Concurrency& concurrency) {
  const std::string& name = concurrency.group;
  const std::string& given = concurrency.pipe_directory;
  if (!given.empty()) {
    if (!options_.on_gpus || IsServed(given)) {
      return std::make_shared<const std::string>(given);
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "no MPS control daemon serves ", given,
        ", the pipe-directory of group ", name, ": start ", kControlDaemon,
        " -d with CUDA_MPS_PIPE_DIRECTORY=", given));
  }
  if (!options_.on_gpus) {
    return std::make_shared<const std::string>(
        absl::StrCat(options_.directory, "/holdfast-mps-", name, "/pipe"));
  }
  if (options_.control_daemon.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the tenants of group ", name, " share an MPS server, and there is no ",
        kControlDaemon,
        " in this daemon's $PATH: install it with the driver, or name the "
        "pipe-directory of a control daemon in the policy"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Group> group, GroupOf(name));
  absl::MutexLock lock(&group->mutex);
  if (group->daemon != nullptr && !group->daemon->Runs()) {
    LogWarning("the MPS control daemon of group ", name,
               " has ended, and is started anew");
    group->daemon = nullptr;
  }
  if (group->daemon == nullptr) {
    if (SteadyNow() < group->retry) return group->failure;
    auto started = Start(name);
    if (!started.ok()) {
      LogError(started.status().message());
      group->failure = started.status();
      group->retry = SteadyNow() + options_.start_pause;
      return group->failure;
    }
    group->daemon = *std::move(started);
  }
  return Pipes(group->daemon, &group->daemon->pipes());
}

absl::StatusOr<std::shared_ptr<MpsServers::Group>> MpsServers::GroupOf(
    const std::string& name) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return Ending();
  std::shared_ptr<Group>& group = groups_[name];
  if (group == nullptr) group = std::make_shared<Group>();
  return group;
}

absl::StatusOr<std::shared_ptr<MpsServers::ControlDaemon>> MpsServers::Start(
    const std::string& group) {
  HOLDFAST_ASSIGN_OR_RETURN(
      std::string directory,
      MakeDirectories(
          absl::StrCat(options_.directory, "/holdfast-mps-", group, "-")));
  auto process = options_.start(
      options_.control_daemon,
      {absl::StrCat("CUDA_MPS_PIPE_DIRECTORY=", directory, "/pipe"),
       absl::StrCat("CUDA_MPS_LOG_DIRECTORY=", directory, "/log")});
  if (!process.ok()) {
    Remove(directory);
    return process.status();
  }
  const auto daemon = std::make_shared<ControlDaemon>(
      std::move(directory), *std::move(process), options_.end_time);
  HOLDFAST_RETURN_IF_ERROR(Register(daemon));
  const absl::Status served = daemon->AwaitPipes();
  if (!served.ok()) {
    if (ended()) return Ending();  // End has killed it.
    return absl::UnavailableError(absl::StrCat(
        "the MPS control daemon of group ", group, " ", served.message()));
  }
  LogInfo("group ", group, " has an MPS control daemon, pid ", daemon->pid(),
          ", with its pipes in ", daemon->pipes());
  return daemon;
}

bool MpsServers::ended() {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

absl::Status MpsServers::Register(
    const std::shared_ptr<ControlDaemon>& daemon) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return Ending();
  std::erase_if(started_, [](const auto& other) { return other.expired(); });
  started_.push_back(daemon);
  return absl::OkStatus();
}

void MpsServers::Retain(const std::vector<Concurrency>& tenants) {
  // Ended outside the lock.
  std::vector<std::shared_ptr<Group>> unwanted;
  absl::MutexLock lock(&mutex_);
  for (auto it = groups_.begin(); it != groups_.end();) {
    const auto entry = it++;
    const auto needs = [&](const Concurrency& tenant) {
      return tenant.group == entry->first && tenant.pipe_directory.empty();
    };
    if (std::any_of(tenants.begin(), tenants.end(), needs)) continue;
    unwanted.push_back(std::move(entry->second));
    groups_.erase(entry);
  }
}

}  // namespace holdfast::supervisor
