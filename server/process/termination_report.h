// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_TERMINATION_REPORT_H_
#define HOLDFAST_SERVER_PROCESS_TERMINATION_REPORT_H_

#include <string>

namespace holdfast {

// The end of a process.
struct TerminationReport {
  enum class Cause {
    kExited,
    kSignaled,
    // The spawner ended first, and the process was killed with it.
    kUnknown,
  };
  Cause cause = Cause::kUnknown;
  // The exit code, or the number of the signal.
  int code = 0;

  bool Succeeded() const { return cause == Cause::kExited && code == 0; }

  // Returns text to follow the process's name in a message: "was killed by
  // signal 9 (SIGKILL)", "exited with code 1". After an exit code above 128,
  // also names the signal that shells encode by this code.
  std::string ToString() const;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_TERMINATION_REPORT_H_
