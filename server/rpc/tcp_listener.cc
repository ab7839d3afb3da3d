// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/tcp_listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr int kBacklog = 512;

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

// Connections inherit these from the listening socket.
void SetConnectionOptions(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

uint16_t PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

absl::Status Unavailable(const Endpoint& endpoint, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", endpoint.ToString(), ": ", why));
}

absl::StatusOr<UniqueFd> ListenOn(const Endpoint& endpoint, addrinfo& address,
                                  uint16_t port, KeptSockets* kept) {
  if (address.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_port = htons(port);
  }
  if (kept != nullptr) {
    UniqueFd old = kept->Take(*address.ai_addr);
    if (old.valid()) return old;
  }
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Unavailable(endpoint, strerror(errno));
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  SetConnectionOptions(fd.get());
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Unavailable(endpoint, strerror(errno));
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(
    const Endpoint& endpoint, KeptSockets* kept) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* addresses = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &addresses);
  if (error != 0) return Unavailable(endpoint, gai_strerror(error));
  const auto free_addresses =
      absl::MakeCleanup([addresses] { freeaddrinfo(addresses); });
  std::unique_ptr<TcpListener> listener(new TcpListener(endpoint.ToString()));
  listener->port_ = endpoint.port;
  absl::Status failure;
  for (addrinfo* next = addresses; next != nullptr; next = next->ai_next) {
    auto fd = ListenOn(endpoint, *next, listener->port_, kept);
    if (!fd.ok()) {
      failure = fd.status();
      continue;
    }
    if (listener->port_ == 0) listener->port_ = PortOf(fd->get());
    listener->sockets_.push_back(*std::move(fd));
  }
  // A name may stand for an address of a family that this machine lacks.
  if (listener->sockets_.empty()) return failure;
  return listener;
}

void TcpListener::Start(const std::function<void(UniqueFd)>& on_connection) {
  for (UniqueFd& socket : sockets_) {
    threads_.push_back(std::make_unique<AcceptThread>(std::move(socket),
                                                      address_, on_connection));
  }
}

}  // namespace holdfast
