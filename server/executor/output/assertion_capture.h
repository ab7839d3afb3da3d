// SPDX-License-Identifier: Apache-2.0
//
// Captures failed assertions of kernels. The driver writes each of them as a
// line to the standard error of its process:
//
//   a.cu:4: void f(int): block: [0,0,0], thread: [2,0,0] Assertion `n > 0`
//   failed.
//
// In an executor, standard error is a pipe. Lines of assertions go to the
// session's client; all other lines, and the process's own log, go to the
// daemon's log.
#ifndef HOLDFAST_SERVER_EXECUTOR_OUTPUT_ASSERTION_CAPTURE_H_
#define HOLDFAST_SERVER_EXECUTOR_OUTPUT_ASSERTION_CAPTURE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace holdfast::executor {

// Redirects standard error while it lives. Thread-compatible.
class AssertionCapture {
 public:
  // Redirects the process's standard error. The output of an aborting process
  // reaches the log, too. Fails if the process has no descriptors left.
  // REQUIRES: called once, before the driver is loaded.
  static absl::StatusOr<std::unique_ptr<AssertionCapture>> Begin();
  // Restores standard error.
  ~AssertionCapture();
  AssertionCapture(const AssertionCapture&) = delete;
  AssertionCapture& operator=(const AssertionCapture&) = delete;

  // A descriptor that is readable when Read has something to do; for poll().
  int descriptor() const { return pipe_.get(); }

  // Returns the lines of assertions since the last call, and writes the other
  // lines to the log. Reads at most a pipe's capacity, and does not block.
  std::string Read();

 private:
  AssertionCapture(UniqueFd pipe, int original);
  // Appends the assertions among the whole lines of `text_`, and removes them.
  void TakeLines(std::string* assertions);
  // Writes a line to the log.
  void HandOn(absl::string_view line) const;

  const UniqueFd pipe_;
  const int original_;  // the log's standard error; not owned
  std::string text_;    // an incomplete line
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_OUTPUT_ASSERTION_CAPTURE_H_
