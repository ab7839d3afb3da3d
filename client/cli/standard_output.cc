// SPDX-License-Identifier: Apache-2.0
#include "client/cli/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace holdfast::cli {

void HoldStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free.
    (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int FinishOutput(int exit_code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return exit_code;
  // A write that failed earlier has left no reason.
  const int error = flushed ? EIO : errno;
  if (error != EPIPE) {
    (void)Report(absl::ErrnoToStatus(error, "standard output is incomplete"),
                 {});
  }
  return exit_code == kExitOk ? kExitFailed : exit_code;
}

}  // namespace holdfast::cli
