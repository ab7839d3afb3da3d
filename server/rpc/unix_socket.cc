// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/unix_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "absl/strings/str_cat.h"
#include "server/rpc/endpoint.h"

namespace holdfast {
namespace {

constexpr int kBacklog = 128;

}  // namespace

absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& path, int type,
                                            mode_t mode) {
  if (path.size() > kMaxSocketPathBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the path ", path, " has over ", kMaxSocketPathBytes, " bytes"));
  }
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  // The file gets the socket's own mode.
  if (!fd.valid() || fchmod(fd.get(), 0600) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof address) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(fd.get(), kBacklog) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("listen on unix:", path));
  }
  return fd;
}

}  // namespace holdfast
