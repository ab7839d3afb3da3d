// SPDX-License-Identifier: Apache-2.0
#include "server/compile/cache_directory.h"

#include <errno.h>
#include <unistd.h>

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace holdfast {

bool IsTrusted(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

absl::Status CheckDirectory(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  if (S_ISDIR(info.st_mode) && IsTrusted(info)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      path, " is not a directory that only this user may write to"));
}

absl::Status MakeDirectories(const std::string& path) {
  absl::Status made;
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string directory = path.substr(0, at);
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      made.Update(absl::ErrnoToStatus(errno, directory));
    }
  }
  const absl::Status usable = CheckDirectory(path);
  return absl::IsNotFound(usable) ? made : usable;
}

}  // namespace holdfast
