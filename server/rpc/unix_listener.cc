// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/unix_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/unix_socket.h"

namespace holdfast {
namespace {

sockaddr_un Address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

absl::StatusOr<UniqueFd> MakeSocket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "make a Unix socket");
  return fd;
}

bool SomebodyAnswers(const std::string& path) {
  const absl::StatusOr<UniqueFd> probe = MakeSocket();
  if (!probe.ok()) return false;
  const sockaddr_un address = Address(path);
  return connect(probe->get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof address) == 0;
}

absl::Status RemoveStale(const std::string& path) {
  struct stat info = {};
  if (path.size() > kMaxSocketPathBytes) return absl::OkStatus();
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists and is no socket"));
  }
  if (SomebodyAnswers(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat("a daemon is already listening on unix:", path));
  }
  LogWarning("removing ", path, ", left from a daemon that is gone");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("remove ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Listen(
    const std::string& path, mode_t mode) {
  HOLDFAST_RETURN_IF_ERROR(RemoveStale(path));
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd,
                            ListenOnUnixSocket(path, SOCK_STREAM, mode));
  return std::unique_ptr<UnixListener>(
      new UnixListener(path, std::move(fd), /*owns_file=*/true));
}

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Adopt(
    const std::string& path, UniqueFd socket, mode_t mode) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("look at ", path));
  }
  // The sockets of sessions get --socket-mode: with another mode here, clients
  // could connect that cannot use a session, or that nobody reckons with.
  if ((info.st_mode & 0777) != mode) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "unix:%s was made by the service manager with mode %04o, and "
        "--socket-mode is %04o: make both the same",
        path, info.st_mode & 0777, mode));
  }
  // Another process that has the socket may accept first.
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return std::unique_ptr<UnixListener>(
      new UnixListener(path, std::move(socket), /*owns_file=*/false));
}

std::unique_ptr<UnixListener> UnixListener::TakeOver(const std::string& path,
                                                     UniqueFd socket) {
  return std::unique_ptr<UnixListener>(
      new UnixListener(path, std::move(socket), /*owns_file=*/true));
}

UnixListener::UnixListener(std::string path, UniqueFd socket, bool owns_file)
    : path_(std::move(path)), socket_(std::move(socket)) {
  struct stat info = {};
  if (owns_file && lstat(path_.c_str(), &info) == 0) inode_ = info.st_ino;
}

UnixListener::~UnixListener() {
  thread_ = nullptr;
  struct stat info = {};
  if (inode_ != 0 && lstat(path_.c_str(), &info) == 0 &&
      info.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

void UnixListener::Start(std::function<void(UniqueFd)> on_connection) {
  thread_ = std::make_unique<AcceptThread>(std::move(socket_), "unix:" + path_,
                                           std::move(on_connection));
}

}  // namespace holdfast
