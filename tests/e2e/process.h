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
// the BUILD file sets. Aborts if the variable is not set.
std::string ProgramPath(const char* variable);

// Polls until `condition` holds. Returns false after `patience`.
bool Eventually(const std::function<bool()>& condition,
                absl::Duration patience = absl::Seconds(30));

struct Outcome {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

// Runs a program to its end, with an empty stdin. `environment` is added to
// this process's own.
Outcome RunProgram(const std::vector<std::string>& arguments,
                   const std::map<std::string, std::string>& environment = {});

// A program that runs concurrently with the test. The destructor kills it, if
// it still runs.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments);
  ~Process();

  pid_t pid() const { return pid_; }
  // Blocks for a line of its stdout. Returns the line without the line break;
  // empty at the end of its output.
  std::string ReadLine();
  void Signal(int signal) const;
  // Closes its stdin, and blocks until it has ended. Returns the exit code, as
  // in Outcome.
  int Finish();

 private:
  pid_t pid_ = -1;
  UniqueFd stdin_;
  UniqueFd stdout_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_PROCESS_H_
