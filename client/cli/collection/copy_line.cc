// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/copy_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"

namespace holdfast::cli {
namespace {

// "5 s", "2m30s"
std::string Rest(double seconds) {
  const absl::Duration rest = absl::Seconds(std::ceil(seconds));
  return rest < absl::Minutes(1)
             ? absl::StrCat(absl::ToInt64Seconds(rest), " s")
             : absl::FormatDuration(rest);
}

}  // namespace

std::string DescribeCopy(uint64_t done, uint64_t all, absl::Duration elapsed) {
  std::string text = absl::StrCat(HumanBytes(done), " of ", HumanBytes(all));
  if (elapsed < absl::Seconds(1) || done == 0) return text;
  const double rate =
      static_cast<double>(done) / absl::ToDoubleSeconds(elapsed);
  const auto left = static_cast<double>(all - std::min(done, all));
  absl::StrAppend(&text, ", ", HumanBytes(static_cast<uint64_t>(rate)), "/s, ",
                  Rest(left / rate), " left");
  return text;
}

CopyLine::CopyLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

CopyLine::~CopyLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void CopyLine::Show(uint64_t done, uint64_t all) {
  if (!terminal_) return;
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%s",
               DescribeCopy(done, all, absl::Now() - start_).c_str());
}

}  // namespace holdfast::cli
