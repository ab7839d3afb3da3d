// SPDX-License-Identifier: Apache-2.0
//
// Starts programs for a test.
#ifndef HOLDFAST_TESTS_E2E_PROCESS_H_
#define HOLDFAST_TESTS_E2E_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast::e2e {

// Returns the path of a program of this tree, from an environment variable that
// the BUILD file sets. Throws if the variable is not set: the test fails, and
// its fixture ends its daemon.
std::string ProgramPath(const char* variable);

// Polls until `condition` holds, and returns true. Returns false if the
// condition does not hold after `patience`.
bool Eventually(const std::function<bool()>& condition,
                absl::Duration patience = absl::Seconds(30));

// The result of a program.
struct Outcome {
  int exit_code = -1;  // 128 + signal if a signal ended the program
  std::string out;     // stdout
  std::string err;     // stderr
};

// Runs a program with an empty stdin, and blocks until it has ended.
// `arguments` begins with the program's path. The program's environment is that
// of this process, with the variables of `environment` added or replaced.
Outcome RunProgram(const std::vector<std::string>& arguments,
                   const std::map<std::string, std::string>& environment = {});

// A program that runs concurrently with the test. stdin and stdout of the
// program are pipes to the test; its stderr is the test's. The program gets
// SIGTERM if the thread that has constructed this object ends first, so that a
// test that crashes or is killed leaves no daemon.
class Process {
 public:
  // Starts the program. `arguments` begins with the program's path.
  explicit Process(const std::vector<std::string>& arguments);
  // Kills the program if Finish() was not called, and waits for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // Blocks until the program has written a line to stdout. Returns the line
  // without the line break; the rest of the output, or an empty string, once
  // the program has closed stdout.
  std::string ReadLine();
  // Sends a signal to the program.
  void Signal(int signal) const;
  // Closes the program's stdin, and blocks until the program has ended. Returns
  // the exit code, as in Outcome.
  int Finish();

 private:
  pid_t pid_ = -1;
  UniqueFd stdin_;
  UniqueFd stdout_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_PROCESS_H_
