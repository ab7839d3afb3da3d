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
    // The spawner died first; the process was killed with it.
    kUnknown,
  };
  Cause cause = Cause::kUnknown;
  // The exit code or the signal.
  int code = 0;

  bool Succeeded() const { return cause == Cause::kExited && code == 0; }

  // Returns a predicate for the process's name: "was killed by signal 9
  // (SIGKILL)", "exited with code 1". A code above 128 is shown with the signal
  // that shells encode by it.
  std::string ToString() const;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_TERMINATION_REPORT_H_
