// SPDX-License-Identifier: Apache-2.0
#include "core/base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/base/own_user.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

absl::Status CannotOpen(const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(
      error, error == EACCES
                 ? absl::StrCat(path, " cannot be opened by user ", OwnUser())
                 : absl::StrCat(path, " cannot be opened"));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t max_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return CannotOpen(path);
  std::string text(max_bytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(file.get(), &text[size], text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path, " cannot be read"));
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", max_bytes, " bytes"));
  }
  text.resize(size);
  return text;
}

}  // namespace holdfast
