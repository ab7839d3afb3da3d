// SPDX-License-Identifier: Apache-2.0
//
// Programs that a test starts.
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

// The path of a program of this tree: the value of an environment variable that
// the BUILD file sets.
std::string ProgramPath(const char* variable);

// Polls until `condition` holds; false after a generous time.
bool Eventually(const std::function<bool()>& condition,
                absl::Duration patience = absl::Seconds(30));

struct Outcome {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

// Runs to the end. `environment` is added to this process's own.
Outcome RunProgram(const std::vector<std::string>& arguments,
                   const std::map<std::string, std::string>& environment = {});

// Runs beside the test; killed, if it still runs, when the object ends.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments);
  ~Process();

  pid_t pid() const { return pid_; }
  // One line of its stdout without the line break; empty when it has ended.
  std::string ReadLine();
  void Signal(int signal) const;
  // Closes its stdin, and waits. Returns the exit code as Outcome has it.
  int Finish();

 private:
  pid_t pid_ = -1;
  UniqueFd stdin_;
  UniqueFd stdout_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_PROCESS_H_
