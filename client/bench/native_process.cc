// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast::bench {
namespace {

// Starts this program again with `output` as its stdout.
absl::StatusOr<pid_t> Spawn(std::vector<std::string> arguments, int output) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return absl::ErrnoToStatus(error, "cannot start the native process");
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t size = read(fd, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(block.data(), static_cast<size_t>(size));
  }
}

}  // namespace

absl::StatusOr<NativeFigures> RunNativeProcess(const std::string& group,
                                               bool quick,
                                               const std::string& device,
                                               const std::string& driver_path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  std::vector<std::string> arguments = {"holdfast", "bench",
                                        absl::StrCat("--native=", group),
                                        absl::StrCat("--device=", device),
                                        absl::StrCat("--driver=", driver_path)};
  if (quick) arguments.push_back("--quick");
  HOLDFAST_ASSIGN_OR_RETURN(const pid_t pid,
                            Spawn(std::move(arguments), input.get()));
  input.Reset();
  const std::string text = ReadAll(output.get());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return ParseNativeFigures(text);
  }
  return absl::UnavailableError(
      absl::StrCat("no native figures of \"", group, "\""));
}

}  // namespace holdfast::bench
