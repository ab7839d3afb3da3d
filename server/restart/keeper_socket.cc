// SPDX-License-Identifier: Apache-2.0
#include "server/restart/keeper_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace holdfast {

absl::StatusOr<KeeperSocket> KeeperSocket::Create() {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const int on = 1;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address),
           sizeof(sa_family_t)) != 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return absl::ErrnoToStatus(errno, "make a keeper's socket");
  }
  return Of(std::move(fd));
}

absl::StatusOr<KeeperSocket> KeeperSocket::Of(UniqueFd fd) {
  sockaddr_un address = {};
  socklen_t size = sizeof address;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) !=
          0 ||
      address.sun_family != AF_UNIX ||
      size <= offsetof(sockaddr_un, sun_path)) {
    return absl::InvalidArgumentError("a keeper's socket has no address");
  }
  std::string path(address.sun_path, size - offsetof(sockaddr_un, sun_path));
  path[0] = '@';
  return KeeperSocket{std::move(fd), std::move(path)};
}

}  // namespace holdfast
