// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace holdfast::bench {
namespace {

// One byte; 0 at the end.
ssize_t ReadByte(int fd, char* byte) {
  ssize_t size = 0;
  do {
    size = read(fd, byte, 1);
  } while (size < 0 && errno == EINTR);
  return size;
}

absl::StatusOr<pid_t> Spawn(std::vector<std::string> arguments, int input,
                            int output) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return absl::ErrnoToStatus(error, "cannot start a process for a baseline");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchProcess>> BenchProcess::Start(
    std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"holdfast", "bench"});
  signal(SIGPIPE, SIG_IGN);  // Write says that a process has gone.
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  const UniqueFd child_input(in[0]);
  UniqueFd input(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  UniqueFd output(out[0]);
  const UniqueFd child_output(out[1]);
  const auto pid =
      Spawn(std::move(arguments), child_input.get(), child_output.get());
  if (!pid.ok()) return pid.status();
  return std::unique_ptr<BenchProcess>(
      new BenchProcess(*pid, std::move(input), std::move(output)));
}

BenchProcess::~BenchProcess() { Wait(); }

bool BenchProcess::Write(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(input_.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string BenchProcess::ReadLine() {
  std::string line;
  char byte = 0;
  while (ReadByte(output_.get(), &byte) > 0 && byte != '\n') line += byte;
  return line;
}

std::string BenchProcess::ReadAll() {
  std::string text;
  char byte = 0;
  while (ReadByte(output_.get(), &byte) > 0) text += byte;
  return text;
}

bool BenchProcess::Wait() {
  if (pid_ < 0) return false;
  input_.Reset();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace holdfast::bench
