// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_PROGRESS_LINE_H_
#define HOLDFAST_CLIENT_CLI_PROGRESS_LINE_H_

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast::cli {

// Shows the progress of a compilation or a link on one line of a terminal. Each
// update overwrites the line, and the destructor erases it. Shows nothing for
// work that takes less than `quick`, or if `fd` is no terminal.
class ProgressLine {
 public:
  // `fd` is borrowed. `work` is a literal, such as "compiling".
  ProgressLine(int fd, absl::string_view work,
               absl::Duration quick = absl::Seconds(1));
  ~ProgressLine();

  void Show(const v1::CompileProgress& progress);

 private:
  const int fd_;
  const absl::string_view work_;
  const bool terminal_;
  const absl::Time start_ = absl::Now();
  const absl::Duration quick_;
  bool shown_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_PROGRESS_LINE_H_
