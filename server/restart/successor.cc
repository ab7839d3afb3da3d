// SPDX-License-Identifier: Apache-2.0
#include "server/restart/successor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/argv.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "server/restart/arguments.h"
#include "server/restart/environment.h"
#include "server/restart/inheritance.h"

namespace holdfast {
namespace {

constexpr absl::Duration kCheckTime = absl::Seconds(30);
constexpr size_t kMaxOutput = 16384;
constexpr size_t kMaxCommandLine = size_t{1} << 20;

// The start of what a process prints, until it closes its output.
std::string ReadOutput(int fd, absl::Time deadline) {
  std::string output;
  char bytes[4096];
  while (output.size() < kMaxOutput) {
    pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
    const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0) break;
    output.append(bytes, static_cast<size_t>(got));
  }
  return output;
}

// The end, by waitpid, of a program that has said nothing.
std::string DescribeSilentEnd(int status) {
  if (WIFEXITED(status)) {
    return absl::StrCat("it said nothing, and exited with status ",
                        WEXITSTATUS(status));
  }
  if (WTERMSIG(status) == SIGKILL) {
    return absl::StrCat("it said nothing within ",
                        absl::FormatDuration(kCheckTime), ", or was killed");
  }
  return absl::StrCat("it said nothing, and died of signal ", WTERMSIG(status));
}

// Runs a program to its end. Returns what it printed; an error has that, too.
absl::StatusOr<std::string> Run(const std::string& binary,
                                const std::vector<std::string>& arguments,
                                const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto destroy = absl::MakeCleanup(
      [&actions] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDERR_FILENO);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, binary.c_str(), &actions, nullptr,
                  Argv(arguments).data(), Argv(environment).data());
  if (error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("execute ", binary));
  }
  input.Reset();
  std::string text = ReadOutput(output.get(), absl::Now() + kCheckTime);
  kill(pid, SIGKILL);  // It has said all, or hangs.
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  absl::StripAsciiWhitespace(&text);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return absl::FailedPreconditionError(absl::StrCat(
      binary,
      " cannot take over: ", text.empty() ? DescribeSilentEnd(status) : text));
}

}  // namespace

absl::StatusOr<Successor> Successor::Find() {
  Successor successor;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  struct stat info = {};
  if (length <= 0 || stat("/proc/self/exe", &info) != 0) {
    return absl::ErrnoToStatus(errno, "look at the daemon's own binary");
  }
  successor.binary_.assign(path, static_cast<size_t>(length));
  successor.device_ = info.st_dev;
  successor.inode_ = info.st_ino;
  HOLDFAST_ASSIGN_OR_RETURN(const std::string line,
                            ReadFile("/proc/self/cmdline", kMaxCommandLine));
  successor.arguments_ = absl::StrSplit(line, '\0');
  if (!successor.arguments_.empty()) successor.arguments_.pop_back();
  ForgetReadyFd(&successor.arguments_);
  return successor;
}

bool Successor::IsNew() const {
  struct stat info = {};
  return stat(binary_.c_str(), &info) == 0 &&
         (info.st_dev != device_ || info.st_ino != inode_);
}

absl::StatusOr<std::string> Successor::Check(
    const std::string& addresses) const {
  std::vector<std::string> arguments = arguments_;
  arguments.push_back("--check-config");
  arguments.push_back(absl::StrCat("--takes-state=", kStateFormat));
  const std::vector<std::string> environment =
      EnvironmentWith(absl::StrCat(kTakenAddresses, "=", addresses));
  HOLDFAST_RETURN_IF_ERROR(Run(binary_, arguments, environment).status());
  return Run(binary_, {arguments[0], "--version"}, environment);
}

absl::Status Successor::Execute(std::vector<KeptDescriptor> kept) const {
  return ExecuteWith(binary_, arguments_, std::move(kept));
}

}  // namespace holdfast
