// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/mps_servers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

absl::Status MakeDirectory(const std::string& path) {
  // The group's executors may have a user of their own.
  if (mkdir(path.c_str(), 0711) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("make ", path));
}

}  // namespace

MpsServers::~MpsServers() {
  absl::MutexLock lock(&mutex_);
  for (auto& [group, daemon] : control_daemons_) {
    daemon = nullptr;
    std::error_code error;
    std::filesystem::remove_all(
        absl::StrCat(options_.directory, "/mps-", group), error);
  }
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
  const std::string pipes =
      absl::StrCat(options_.directory, "/mps-", group, "/pipe");
  if (!options_.on_gpus) return pipes;
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
    if (!running->second->Wait(absl::InfinitePast()).has_value()) return pipes;
    LogWarning("the MPS control daemon of group ", group,
               " has ended, and is started anew");
    control_daemons_.erase(running);
  }
  HOLDFAST_RETURN_IF_ERROR(Start(group, pipes));
  return pipes;
}

absl::Status MpsServers::Start(const std::string& group,
                               const std::string& pipes) {
  const std::string directory =
      absl::StrCat(options_.directory, "/mps-", group);
  const std::string log = directory + "/log";
  for (const std::string& path : {directory, pipes, log}) {
    HOLDFAST_RETURN_IF_ERROR(MakeDirectory(path));
  }
  unlink((pipes + "/control").c_str());  // Left by one that was killed.
  HOLDFAST_ASSIGN_OR_RETURN(
      auto daemon,
      options_.start({absl::StrCat("CUDA_MPS_PIPE_DIRECTORY=", pipes),
                      absl::StrCat("CUDA_MPS_LOG_DIRECTORY=", log)}));
  const absl::Time deadline = absl::Now() + kStartTime;
  while (!IsServed(pipes)) {
    const auto ended = daemon->Wait(absl::Now() + kPause);
    if (!ended.has_value() && absl::Now() < deadline) continue;
    return absl::UnavailableError(absl::StrCat(
        "the MPS control daemon of group ", group, " ",
        ended.has_value() ? ended->ToString() : "did not open its pipes",
        "; its log is in ", log));
  }
  LogInfo("group ", group, " has an MPS control daemon, pid ", daemon->pid());
  control_daemons_[group] = std::move(daemon);
  return absl::OkStatus();
}

}  // namespace holdfast
