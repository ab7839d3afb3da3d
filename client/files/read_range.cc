// SPDX-License-Identifier: Apache-2.0
#include "client/files/read_range.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast {

absl::StatusOr<uint64_t> FileSize(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return absl::ErrnoToStatus(errno, "cannot be looked at");
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError("not a regular file");
  }
  return static_cast<uint64_t>(status.st_size);
}

absl::Status ReadRange(int fd, char* data, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t got = pread(fd, data, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot be read");
    if (got == 0) return absl::OutOfRangeError("the file is cut short");
    data += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace holdfast
