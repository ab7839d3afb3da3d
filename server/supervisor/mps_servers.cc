// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/mps_servers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kControlDaemon[] = "nvidia-cuda-mps-control";

// For a control daemon to open its pipes.
constexpr absl::Duration kStartTime = absl::Seconds(10);
constexpr absl::Duration kPause = absl::Milliseconds(20);

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

// A new directory `prefix`XXXXXX with `pipe` and `log` in it. The group's
// server and executors may have a user of their own, which has to reach the
// pipes and to write the log.
absl::StatusOr<std::string> MakeDirectories(const std::string& prefix) {
  std::string directory = prefix + "XXXXXX";
  if (mkdtemp(directory.data()) == nullptr ||
      chmod(directory.c_str(), 0711) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make ", directory));
  }
  HOLDFAST_RETURN_IF_ERROR(MakeDirectory(directory + "/pipe", 0711));
  HOLDFAST_RETURN_IF_ERROR(MakeDirectory(directory + "/log", 01733));
  return directory;
}

}  // namespace

MpsServers::~MpsServers() {
  absl::MutexLock lock(&mutex_);
  for (auto& [group, daemon] : control_daemons_) End(daemon);
}

void MpsServers::End(ControlDaemon& daemon) {
  daemon.process = nullptr;
  std::error_code error;
  std::filesystem::remove_all(daemon.directory, error);
}

std::string MpsServers::FindControlDaemon(const std::string& path) {
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    if (directory.empty()) continue;
    std::string file = absl::StrCat(directory, "/", kControlDaemon);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

absl::StatusOr<std::string> MpsServers::PipeDirectory(
    const Concurrency& concurrency) {
  const std::string& group = concurrency.group;
  const std::string& given = concurrency.pipe_directory;
  if (!given.empty()) {
    if (!options_.on_gpus || IsServed(given)) return given;
    return absl::FailedPreconditionError(absl::StrCat(
        "no MPS control daemon serves ", given,
        ", the pipe-directory of group ", group, ": start ", kControlDaemon,
        " -d with CUDA_MPS_PIPE_DIRECTORY=", given));
  }
  if (!options_.on_gpus) {
    return absl::StrCat(options_.directory, "/holdfast-mps-", group, "/pipe");
  }
  if (options_.control_daemon.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the tenants of group ", group,
        " share an MPS server, and there is no ", kControlDaemon,
        " in this daemon's $PATH: install it with the driver, or name the "
        "pipe-directory of a control daemon in the policy"));
  }
  absl::MutexLock lock(&mutex_);
  const auto running = control_daemons_.find(group);
  if (running != control_daemons_.end()) {
    ControlDaemon& daemon = running->second;
    if (!daemon.process->Wait(absl::InfinitePast()).has_value()) {
      return daemon.directory + "/pipe";
    }
    LogWarning("the MPS control daemon of group ", group,
               " has ended, and is started anew");
    End(daemon);
    control_daemons_.erase(running);
  }
  return Start(group);
}

absl::StatusOr<std::string> MpsServers::Start(const std::string& group) {
  ControlDaemon daemon;
  HOLDFAST_ASSIGN_OR_RETURN(
      daemon.directory, MakeDirectories(absl::StrCat(
                            options_.directory, "/holdfast-mps-", group, "-")));
  const std::string pipes = daemon.directory + "/pipe";
  const std::string log = daemon.directory + "/log";
  HOLDFAST_ASSIGN_OR_RETURN(
      daemon.process,
      options_.start({absl::StrCat("CUDA_MPS_PIPE_DIRECTORY=", pipes),
                      absl::StrCat("CUDA_MPS_LOG_DIRECTORY=", log)}));
  const absl::Time deadline = absl::Now() + kStartTime;
  while (!IsServed(pipes)) {
    const auto ended = daemon.process->Wait(absl::Now() + kPause);
    if (!ended.has_value() && absl::Now() < deadline) continue;
    return absl::UnavailableError(absl::StrCat(
        "the MPS control daemon of group ", group, " ",
        ended.has_value() ? ended->ToString() : "did not open its pipes",
        "; its log is in ", log));
  }
  LogInfo("group ", group, " has an MPS control daemon, pid ",
          daemon.process->pid(), ", with its pipes in ", pipes);
  control_daemons_[group] = std::move(daemon);
  return pipes;
}

}  // namespace holdfast
