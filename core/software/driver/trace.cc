// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/trace.h"

#include <unistd.h>

namespace holdfast::software {

void PrintLine(absl::string_view text) {
  // One write: the kernel keeps it in one piece. If it fails, there is nobody
  // to tell.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace holdfast::software
