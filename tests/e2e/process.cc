// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "absl/time/clock.h"

namespace holdfast::e2e {
namespace {

// Replaces this process, a new child of `parent`. Makes only calls that are
// safe after a fork in a process with several threads.
[[noreturn]] void Execute(char* const* arguments, char* const* variables,
                          const int (&descriptors)[3], pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it ended before prctl
  for (int i = 0; i < 3; ++i) dup2(descriptors[i], i);
  closefrom(3);
  execve(arguments[0], arguments, variables);
  constexpr char kReason[] = ": cannot be executed\n";
  (void)!write(STDERR_FILENO, arguments[0], strlen(arguments[0]));
  (void)!write(STDERR_FILENO, kReason, sizeof kReason - 1);
  _exit(127);
}

// Starts a program that gets SIGTERM when the calling thread ends. The
// program's descriptors 0, 1 and 2 are `descriptors`, which must not be 0 or 1.
pid_t Spawn(std::vector<std::string> arguments,
            const std::map<std::string, std::string>& environment,
            const int (&descriptors)[3]) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!environment.contains(text.substr(0, text.find('=')))) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Execute(argv.data(), envp.data(), descriptors, parent);
  if (pid < 0) throw std::runtime_error("cannot start " + arguments[0]);
  return pid;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ReadAll(FILE* file) {
  std::string text;
  rewind(file);
  char block[4096];
  while (const size_t size = fread(block, 1, sizeof block, file)) {
    text.append(block, size);
  }
  return text;
}

}  // namespace

std::string ProgramPath(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr) {
    throw std::runtime_error(std::string(variable) + " is not set");
  }
  return path;
}

bool Eventually(const std::function<bool()>& condition,
                absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

Outcome RunProgram(const std::vector<std::string>& arguments,
                   const std::map<std::string, std::string>& environment) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  FILE* out = tmpfile();
  FILE* err = tmpfile();
  const pid_t pid =
      Spawn(arguments, environment, {null.get(), fileno(out), fileno(err)});
  Outcome outcome;
  outcome.exit_code = WaitFor(pid);
  outcome.out = ReadAll(out);
  outcome.err = ReadAll(err);
  fclose(out);
  fclose(err);
  return outcome;
}

Process::Process(const std::vector<std::string>& arguments) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    std::abort();
  }
  const UniqueFd child_in(input[0]), child_out(output[1]);
  stdin_.Reset(input[1]);
  stdout_.Reset(output[0]);
  pid_ = Spawn(arguments, {}, {child_in.get(), child_out.get(), 2});
}

Process::~Process() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  WaitFor(pid_);
}

std::string Process::ReadLine() {
  std::string line;
  char c = 0;
  while (read(stdout_.get(), &c, 1) == 1 && c != '\n') line += c;
  return line;
}

void Process::Signal(int signal) const { kill(pid_, signal); }

int Process::Finish() {
  stdin_.Reset();
  return WaitFor(std::exchange(pid_, -1));
}

}  // namespace holdfast::e2e
