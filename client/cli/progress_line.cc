// SPDX-License-Identifier: Apache-2.0
#include "client/cli/progress_line.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {
namespace {

constexpr absl::string_view kClearLine = "\r\x1b[K";

void Write(int fd, absl::string_view text) {
  [[maybe_unused]] const ssize_t n = write(fd, text.data(), text.size());
}

std::string Describe(const v1::CompileProgress& progress,
                     absl::string_view work) {
  if (progress.stage() != v1::CompileProgress::STAGE_QUEUED) {
    return std::string(work);
  }
  return absl::StrCat("waiting for a compiler, ", progress.queue_position(),
                      " of ", progress.queue_length(), " in the queue");
}

}  // namespace

ProgressLine::ProgressLine(int fd, absl::string_view work, absl::Duration quick)
    : fd_(fd), work_(work), terminal_(isatty(fd) == 1), quick_(quick) {}

ProgressLine::~ProgressLine() {
  if (shown_) Write(fd_, kClearLine);
}

void ProgressLine::Show(const v1::CompileProgress& progress) {
  const absl::Duration elapsed = absl::Now() - start_;
  if (!terminal_ || elapsed < quick_) return;
  shown_ = true;
  Write(fd_, absl::StrCat(kClearLine, Describe(progress, work_), ", ",
                          absl::ToInt64Seconds(elapsed), " s"));
}

}  // namespace holdfast::cli
