// SPDX-License-Identifier: Apache-2.0
#include "client/cli/file.h"

#include <cerrno>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace holdfast::cli {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno,
                               absl::StrCat("cannot read ", path));
  }
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
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
