// SPDX-License-Identifier: Apache-2.0
#include "server/compile/cache_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

constexpr absl::string_view kSuffix = ".new";
constexpr absl::string_view kUnique = ".XXXXXX";  // before it, for mkostemps
// For a writer to lock what it has just made.
constexpr absl::Duration kMoment = absl::Seconds(5);

}  // namespace

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

// The lock tells others, in this and any other daemon, that the writer lives.
absl::Status ReplaceFile(const std::string& path,
                         const std::function<absl::Status(int fd)>& write) {
  std::string name = absl::StrCat(path, kUnique, kSuffix);
  const UniqueFd fd(
      mkostemps(name.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, name);
  absl::Status status;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    status = absl::ErrnoToStatus(errno, "flock");
  }
  if (status.ok()) status = write(fd.get());
  if (status.ok() && rename(name.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, "rename");
  }
  if (status.ok()) return status;
  unlink(name.c_str());
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

absl::string_view FinalName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kSuffix) || name.size() <= kUnique.size()) {
    return "";
  }
  const size_t size = name.size() - kUnique.size();
  return name[size] == '.' ? name.substr(0, size) : "";
}

bool IsStaleTempFile(int directory_fd, const char* name,
                     const struct stat& info) {
  if (absl::TimeFromTimespec(info.st_mtim) + kMoment >= absl::Now()) {
    return false;
  }
  const UniqueFd fd(openat(directory_fd, name,
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace holdfast
