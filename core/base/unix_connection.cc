// SPDX-License-Identifier: Apache-2.0
#include "core/base/unix_connection.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace holdfast {

absl::StatusOr<UniqueFd> ConnectToUnixSocket(const std::string& path, int type,
                                             absl::Duration limit) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of a socket is too long: ", path));
  }
  path.copy(address.sun_path, path.size());
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const timeval patience = absl::ToTimeval(limit);
  const auto limited = [&socket, &patience](int option) {
    return setsockopt(socket.get(), SOL_SOCKET, option, &patience,
                      sizeof patience) == 0;
  };
  if (!socket.valid() || !limited(SO_RCVTIMEO) || !limited(SO_SNDTIMEO) ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    return absl::UnavailableError(
        absl::StrCat("the socket unix:", path, ": ", std::strerror(errno)));
  }
  return socket;
}

}  // namespace holdfast
