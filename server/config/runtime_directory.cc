// SPDX-License-Identifier: Apache-2.0
#include "server/config/runtime_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "server/rpc/endpoint.h"

namespace holdfast::server {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "executors-";
constexpr size_t kSocketNameBytes = sizeof("/s-4294967295.sock");

// Who may write to the sockets needs to search their directory.
mode_t DirectoryMode(mode_t socket_mode) {
  mode_t mode = 0700;
  if (socket_mode & 0020) mode |= 0010;
  if (socket_mode & 0002) mode |= 0001;
  return mode;
}

// Opens a directory and takes its lock; invalid: it is not there, or somebody
// has the lock.
UniqueFd Lock(const std::string& path) {
  UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.Reset();
  return fd;
}

bool IsDeadDaemons(const fs::path& path) {
  const std::string name = path.filename();
  absl::string_view rest = name;
  pid_t pid = 0;
  const bool dead = absl::ConsumePrefix(&rest, kPrefix) &&
                    absl::SimpleAtoi(rest, &pid) && pid > 0 &&
                    kill(pid, 0) != 0 && errno == ESRCH;
  return dead && Lock(path).valid();
}

std::string PathIn(const std::string& parent) {
  return absl::StrCat(parent, "/", kPrefix, getpid());
}

absl::Status CheckLength(const std::string& parent) {
  if (PathIn(parent).size() + kSocketNameBytes <= kMaxSocketPathBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--runtime-dir: ", parent,
                   " is too long for the paths of Unix sockets in it"));
}

void RemoveDeadDaemons(const std::string& parent) {
  std::error_code ignored;
  for (fs::directory_iterator it(parent, ignored), end; it != end;
       it.increment(ignored)) {
    if (IsDeadDaemons(it->path())) {
      fs::remove_all(it->path(), ignored);
    }
  }
}

}  // namespace

absl::Status MakePrivateDirectory(const std::string& path, mode_t socket_mode) {
  const mode_t mode = DirectoryMode(socket_mode);
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  const mode_t mask = umask(0022);
  if (!parent.empty()) fs::create_directories(parent, error);
  umask(mask);
  if (mkdir(path.c_str(), mode) == 0) {
    chmod(path.c_str(), mode);  // Whatever the umask.
    return absl::OkStatus();
  }
  if (errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make directory ", path));
  }
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("look at ", path));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is not a directory of this user"));
  }
  if (info.st_mode & 0022 & ~mode) {
    return absl::PermissionDeniedError(absl::StrCat(
        "others may write to ", path, "; sockets there could be replaced"));
  }
  return absl::OkStatus();
}

absl::Status RuntimeDirectory::Check(const std::string& parent) {
  HOLDFAST_RETURN_IF_ERROR(CheckLength(parent));
  std::error_code ignored;
  fs::path there = fs::absolute(parent, ignored).lexically_normal();
  const bool made = fs::exists(there, ignored);
  while (!fs::exists(there, ignored) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (access(there.c_str(), made ? X_OK : W_OK | X_OK) == 0 &&
      fs::is_directory(there, ignored)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "--runtime-dir: ", parent, " cannot be made or used: ", there.string(),
      " is no directory, or not open to this user"));
}

absl::StatusOr<std::unique_ptr<RuntimeDirectory>> RuntimeDirectory::Create(
    const std::string& parent, mode_t socket_mode) {
  HOLDFAST_RETURN_IF_ERROR(CheckLength(parent));
  HOLDFAST_RETURN_IF_ERROR(MakePrivateDirectory(parent, socket_mode));
  RemoveDeadDaemons(parent);
  const std::string path = PathIn(parent);
  std::error_code ignored;
  fs::remove_all(path, ignored);  // Left by an earlier daemon with this pid.
  HOLDFAST_RETURN_IF_ERROR(MakePrivateDirectory(path, socket_mode));
  return std::unique_ptr<RuntimeDirectory>(
      new RuntimeDirectory(path, Lock(path)));
}

absl::StatusOr<std::unique_ptr<RuntimeDirectory>> RuntimeDirectory::Adopt(
    const std::string& parent, UniqueFd fd) {
  std::error_code error;
  // Under systemd the daemon before had mounts of its own: of its path only the
  // name means something here.
  const fs::path path =
      fs::read_symlink(absl::StrCat("/proc/self/fd/", fd.get()), error);
  const std::string name = path.filename();
  const std::string here = absl::StrCat(parent, "/", name);
  struct stat kept = {}, found = {};
  if (!error && absl::StartsWith(name, kPrefix) &&
      fstat(fd.get(), &kept) == 0 && lstat(here.c_str(), &found) == 0 &&
      kept.st_dev == found.st_dev && kept.st_ino == found.st_ino) {
    return std::unique_ptr<RuntimeDirectory>(
        new RuntimeDirectory(here, std::move(fd)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("their sockets were in ", path.string(),
                   ", which is not in --runtime-dir=", parent));
}

RuntimeDirectory::~RuntimeDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace holdfast::server
