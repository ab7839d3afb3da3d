// SPDX-License-Identifier: Apache-2.0
#include "client/cli/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"

namespace holdfast::cli {

namespace {

constexpr size_t kMaxStandardInput = size_t{256} << 20;

absl::StatusOr<std::string> ReadStandardInput() {
  std::string bytes;
  char part[65536];
  while (true) {
    const ssize_t n = read(STDIN_FILENO, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot read standard input");
    if (n == 0) return bytes;
    bytes.append(part, static_cast<size_t>(n));
    if (bytes.size() > kMaxStandardInput) {
      return absl::ResourceExhaustedError(
          "standard input has more than 256 MiB");
    }
  }
}

absl::Status WriteStandardOutput(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, "cannot write to standard output");
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadStandardInput();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno,
                               absl::StrCat("cannot read ", path));
  }
  return bytes;
}

absl::Status WriteNewFile(const std::string& path, absl::string_view bytes) {
  const UniqueFd fd(open(path.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0666));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  }
  while (!bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  if (path == "-") return WriteStandardOutput(bytes);
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file.fail()) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno,
                               absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cli
