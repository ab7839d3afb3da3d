// SPDX-License-Identifier: Apache-2.0
#include "deploy/node/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/base/argv.h"
#include "core/base/unique_fd.h"

namespace holdfast::node {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Pipe MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Returns the process, or 0; *failure is an error number then.
pid_t Start(const std::vector<std::string>& arguments, int out, int err,
            int* failure) {
  const std::vector<char*> pointers = Argv(arguments);
  char* environment[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = 0;
  *failure = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(),
                         environment);
  posix_spawn_file_actions_destroy(&actions);
  return *failure == 0 ? pid : 0;
}

// Reads both to their ends. Returns false at the deadline.
bool ReadAll(const UniqueFd& out, const UniqueFd& err,
             Clock::time_point deadline, Outcome* outcome) {
  pollfd ends[] = {{.fd = out.get(), .events = POLLIN},
                   {.fd = err.get(), .events = POLLIN}};
  std::string* const texts[] = {&outcome->out, &outcome->err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    if (left.count() <= 0) return false;
    if (poll(ends, 2, static_cast<int>(left.count())) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      char buffer[4096];
      if (ends[i].revents == 0) continue;
      const ssize_t bytes = read(ends[i].fd, buffer, sizeof buffer);
      if (bytes > 0) texts[i]->append(buffer, static_cast<size_t>(bytes));
      if (bytes == 0 || (bytes < 0 && errno != EINTR)) ends[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

Outcome RunProgram(const std::vector<std::string>& arguments, int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  Outcome outcome;
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  int failure = 0;
  const pid_t pid =
      Start(arguments, out.writer.get(), err.writer.get(), &failure);
  if (pid == 0) {
    outcome.err = arguments[0] + ": " + strerror(failure);
    return outcome;
  }
  out.writer.Reset();
  err.writer.Reset();
  if (!ReadAll(out.reader, err.reader, deadline, &outcome)) {
    kill(pid, SIGKILL);
    outcome.err =
        arguments[0] + ": no answer within " + std::to_string(seconds) + " s";
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace holdfast::node
