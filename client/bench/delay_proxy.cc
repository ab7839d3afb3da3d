// SPDX-License-Identifier: Apache-2.0
#include "client/bench/delay_proxy.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

absl::StatusOr<UniqueFd> ListenOnLoopback() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
          0 ||
      listen(fd.get(), 64) != 0) {
    return absl::ErrnoToStatus(errno, "listen on 127.0.0.1");
  }
  return fd;
}

absl::StatusOr<UniqueFd> ConnectTo(const std::string& target) {
  const size_t colon = target.rfind(':');
  const std::string host = target.substr(0, colon);
  const std::string port =
      colon == std::string::npos ? "" : target.substr(colon + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat(target, ": ", gai_strerror(error)));
  }
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool connected =
      fd.valid() && connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0;
  const int reason = errno;
  freeaddrinfo(found);
  if (!connected) return absl::ErrnoToStatus(reason, target);
  return fd;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// One direction of a connection: one thread reads and notes when, another
// writes when it is time. Ends with either socket.
class DelayedPipe {
 public:
  DelayedPipe(int from, int to, absl::Duration delay)
      : from_(from), to_(to), delay_(delay) {
    reader_ = std::thread([this] { Read(); });
    writer_ = std::thread([this] { Write(); });
  }
  // REQUIRES: the sockets were shut down.
  ~DelayedPipe() {
    reader_.join();
    writer_.join();
  }

 private:
  struct Piece {
    absl::Time due;
    std::string bytes;  // empty: the end
  };

  void Read() {
    std::string bytes(64 << 10, '\0');
    for (;;) {
      const ssize_t size = recv(from_, bytes.data(), bytes.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      absl::MutexLock lock(&mutex_);
      pieces_.push_back(
          {absl::Now() + delay_,
           size > 0 ? bytes.substr(0, static_cast<size_t>(size)) : ""});
      if (size <= 0) return;
    }
  }

  void Write() {
    for (;;) {
      mutex_.LockWhen(absl::Condition(
          +[](std::deque<Piece>* pieces) { return !pieces->empty(); },
          &pieces_));
      const Piece piece = std::move(pieces_.front());
      pieces_.pop_front();
      mutex_.Unlock();
      absl::SleepFor(piece.due - absl::Now());
      if (piece.bytes.empty() || !SendAll(piece.bytes)) break;
    }
    shutdown(to_, SHUT_RDWR);
    shutdown(from_, SHUT_RDWR);
  }

  bool SendAll(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
    return true;
  }

  const int from_;
  const int to_;
  const absl::Duration delay_;
  absl::Mutex mutex_;
  std::deque<Piece> pieces_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
  std::thread writer_;
};

}  // namespace

class DelayProxy::Connection {
 public:
  Connection(UniqueFd client, UniqueFd server, absl::Duration delay)
      : client_(std::move(client)),
        server_(std::move(server)),
        to_server_(client_.get(), server_.get(), delay),
        to_client_(server_.get(), client_.get(), delay) {}
  void Break() const {
    shutdown(client_.get(), SHUT_RDWR);
    shutdown(server_.get(), SHUT_RDWR);
  }

 private:
  const UniqueFd client_;
  const UniqueFd server_;
  DelayedPipe to_server_;
  DelayedPipe to_client_;
};

absl::StatusOr<std::unique_ptr<DelayProxy>> DelayProxy::Start(
    const std::string& target, absl::Duration delay) {
  HOLDFAST_RETURN_IF_ERROR(ConnectTo(target).status());
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd listener, ListenOnLoopback());
  return std::unique_ptr<DelayProxy>(
      new DelayProxy(std::move(listener), target, delay));
}

DelayProxy::DelayProxy(UniqueFd listener, std::string target,
                       absl::Duration delay)
    : listener_(std::move(listener)),
      target_(std::move(target)),
      delay_(delay),
      acceptor_([this] { Accept(); }) {}

DelayProxy::~DelayProxy() {
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  std::vector<std::unique_ptr<Connection>> connections;
  {
    absl::MutexLock lock(&mutex_);
    connections.swap(connections_);
  }
  for (const auto& connection : connections) connection->Break();
}

std::string DelayProxy::target() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
}

void DelayProxy::Accept() {
  for (;;) {
    UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid() && errno == EINTR) continue;
    if (!client.valid()) return;
    absl::StatusOr<UniqueFd> server = ConnectTo(target_);
    if (!server.ok()) continue;
    SendAtOnce(client.get());
    SendAtOnce(server->get());
    absl::MutexLock lock(&mutex_);
    connections_.push_back(std::make_unique<Connection>(
        std::move(client), *std::move(server), delay_));
  }
}

}  // namespace holdfast::bench
