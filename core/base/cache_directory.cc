// SPDX-License-Identifier: Apache-2.0
#include "core/base/cache_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
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

std::vector<CacheFile> ListCache(const std::string& directory) {
  std::vector<CacheFile> files;
  DIR* const opened = opendir(directory.c_str());
  if (opened == nullptr) return files;
  while (const dirent* entry = readdir(opened)) {
    struct stat info = {};
    if (fstatat(dirfd(opened), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) !=
            0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    files.push_back({entry->d_name, static_cast<uint64_t>(info.st_size),
                     absl::TimeFromTimespec(info.st_mtim)});
  }
  closedir(opened);
  return files;
}

bool IsStaleTempFile(const std::string& directory, const CacheFile& file) {
  if (FinalName(file.name).empty() || file.used + kMoment >= absl::Now()) {
    return false;
  }
  const UniqueFd fd(open(absl::StrCat(directory, "/", file.name).c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

// The time that the kernel would set is as coarse as its tick.
void SetUsedNow(int fd) {
  timespec now[2] = {};
  clock_gettime(CLOCK_REALTIME, &now[0]);
  now[1] = now[0];
  futimens(fd, now);
}

CacheSum RemoveLeastRecentlyUsed(const std::string& directory,
                                 std::vector<CacheFile> files, uint64_t goal) {
  std::sort(
      files.begin(), files.end(),
      [](const CacheFile& a, const CacheFile& b) { return a.used < b.used; });
  uint64_t rest = 0;
  for (const CacheFile& file : files) rest += file.bytes;
  CacheSum removed;
  for (const CacheFile& file : files) {
    if (rest <= goal) break;
    if (unlink(absl::StrCat(directory, "/", file.name).c_str()) != 0) continue;
    rest -= file.bytes;
    ++removed.files;
    removed.bytes += file.bytes;
  }
  return removed;
}

}  // namespace holdfast
