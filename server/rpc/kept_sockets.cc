// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/kept_sockets.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {
namespace {

bool SamePort(in_port_t wanted, in_port_t port) {
  return wanted == 0 || wanted == port;
}

bool SameAddress(const sockaddr& wanted, const sockaddr_storage& bound) {
  if (wanted.sa_family != bound.ss_family) return false;
  switch (wanted.sa_family) {
    case AF_INET: {
      const auto& a = reinterpret_cast<const sockaddr_in&>(wanted);
      const auto& b = reinterpret_cast<const sockaddr_in&>(bound);
      return a.sin_addr.s_addr == b.sin_addr.s_addr &&
             SamePort(a.sin_port, b.sin_port);
    }
    case AF_INET6: {
      const auto& a = reinterpret_cast<const sockaddr_in6&>(wanted);
      const auto& b = reinterpret_cast<const sockaddr_in6&>(bound);
      return std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0 &&
             SamePort(a.sin6_port, b.sin6_port);
    }
    case AF_UNIX: {
      const auto& a = reinterpret_cast<const sockaddr_un&>(wanted);
      const auto& b = reinterpret_cast<const sockaddr_un&>(bound);
      return std::strncmp(a.sun_path, b.sun_path, sizeof a.sun_path) == 0;
    }
    default:
      return false;
  }
}

uint64_t NumberOf(const KeptName& name) {
  return name.numbers.empty() ? 0 : name.numbers.front();
}

}  // namespace

KeptSockets::KeptSockets(std::vector<KeptDescriptor> sockets)
    : sockets_(std::move(sockets)) {
  for (const KeptDescriptor& socket : sockets_) {
    last_number_ = std::max(last_number_, NumberOf(socket.name));
  }
}

UniqueFd KeptSockets::Take(const sockaddr& address) {
  for (KeptDescriptor& socket : sockets_) {
    sockaddr_storage bound = {};
    socklen_t size = sizeof bound;
    const bool known =
        socket.fd.valid() &&
        getsockname(socket.fd.get(), reinterpret_cast<sockaddr*>(&bound),
                    &size) == 0;
    if (!known || !SameAddress(address, bound)) continue;
    taken_[socket.fd.get()] = NumberOf(socket.name);
    return std::move(socket.fd);
  }
  return UniqueFd();
}

KeptName KeptSockets::NameOf(int socket, const std::string& kind) {
  const auto taken = taken_.find(socket);
  if (taken != taken_.end()) return {kind, {taken->second}};
  return {kind, {++last_number_}};
}

UniqueFd KeptSockets::TakeUnix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return UniqueFd();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return Take(reinterpret_cast<const sockaddr&>(address));
}

}  // namespace holdfast
