// SPDX-License-Identifier: Apache-2.0
//
// Assertions of kernels that failed. A driver writes each as a line to the
// standard error of its process:
//
//   a.cu:4: void f(int): block: [0,0,0], thread: [2,0,0] Assertion `n > 0`
//   failed.
//
// In an executor standard error is a pipe. The lines of assertions go to the
// session's client; all others, and the process's own log, to the daemon's log
// as before.
#ifndef HOLDFAST_SERVER_EXECUTOR_ASSERTION_CAPTURE_H_
#define HOLDFAST_SERVER_EXECUTOR_ASSERTION_CAPTURE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace holdfast::executor {

// Thread-compatible.
class AssertionCapture {
 public:
  // Takes the process's standard error: once, before the driver is loaded. What
  // a process writes there when it aborts reaches the log, too. Fails if the
  // process has no descriptors left.
  static absl::StatusOr<std::unique_ptr<AssertionCapture>> Begin();
  // Gives standard error back.
  ~AssertionCapture();
  AssertionCapture(const AssertionCapture&) = delete;
  AssertionCapture& operator=(const AssertionCapture&) = delete;

  // Readable when Read has something to do.
  int descriptor() const { return pipe_.get(); }

  // Returns the lines of assertions that were written since the last call, at
  // most as many as a pipe holds, and hands the others on.
  std::string Read();

 private:
  AssertionCapture(UniqueFd pipe, int original);
  // Appends the assertions among the whole lines of `text_`, and removes them.
  void TakeLines(std::string* assertions);
  void HandOn(absl::string_view line) const;

  const UniqueFd pipe_;
  const int original_;  // standard error as it was; the log's, never closed
  std::string text_;    // the begin of a line
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ASSERTION_CAPTURE_H_
