// SPDX-License-Identifier: Apache-2.0
#include "server/service_manager/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// More sockets than any unit has, and more descriptors than any keeps; a larger
// number is no service manager's.
constexpr size_t kMaxSockets = 64;
constexpr int kMaxInherited = 1 << 20;

constexpr char kKeptPrefix[] = "hf.";

// Returns the number in a variable of the environment, or `otherwise`.
int NumberIn(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

int Option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

absl::StatusOr<std::string> ListeningPathOf(int fd) {
  sockaddr_un address = {};
  socklen_t size = sizeof address;
  const bool bound =
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
      address.sun_family == AF_UNIX && address.sun_path[0] == '/';
  if (!bound || Option(fd, SO_TYPE) != SOCK_STREAM ||
      Option(fd, SO_ACCEPTCONN) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "descriptor ", fd,
        " of the service manager is no listening Unix stream socket with a "
        "path; ListenStream= of its socket unit takes a path"));
  }
  // The kernel ends a path with a zero, unless it fills the field.
  return std::string(address.sun_path,
                     strnlen(address.sun_path, sizeof address.sun_path));
}

absl::StatusOr<InheritedDescriptors> TakeInheritedDescriptors(int first_fd) {
  const int count = NumberIn("LISTEN_FDS", 0);
  const bool ours = NumberIn("LISTEN_PID", -1) == getpid();
  const char* const listed = std::getenv("LISTEN_FDNAMES");
  const std::vector<std::string> names =
      absl::StrSplit(listed == nullptr ? "" : listed, ':');
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDNAMES");
  if (!ours || count <= 0) return InheritedDescriptors();
  if (count > kMaxInherited) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LISTEN_FDS=", count, " is over the limit of ", kMaxInherited));
  }
  InheritedDescriptors inherited;
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < count; ++i) {
    fcntl(first_fd + i, F_SETFD, FD_CLOEXEC);
    UniqueFd fd(first_fd + i);
    const auto index = static_cast<size_t>(i);
    if (index < names.size() && absl::StartsWith(names[index], kKeptPrefix)) {
      inherited.kept.emplace_back(names[index], std::move(fd));
    } else {
      sockets.push_back(std::move(fd));
    }
  }
  if (sockets.size() > kMaxSockets) {
    return absl::InvalidArgumentError(
        absl::StrCat("the service manager passes ", sockets.size(),
                     " sockets, the limit is ", kMaxSockets));
  }
  for (UniqueFd& fd : sockets) {
    HOLDFAST_ASSIGN_OR_RETURN(std::string path, ListeningPathOf(fd.get()));
    inherited.sockets[std::move(path)] = std::move(fd);
  }
  return inherited;
}

}  // namespace holdfast
