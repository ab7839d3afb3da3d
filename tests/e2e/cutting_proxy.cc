// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/cutting_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace holdfast::e2e {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

UniqueFd Listen() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(0);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof address) != 0 ||
      listen(fd.get(), 64) != 0) {
    std::abort();
  }
  return fd;
}

UniqueFd ConnectTo(const std::string& target) {
  const int port = std::atoi(target.substr(target.rfind(':') + 1).c_str());
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(static_cast<uint16_t>(port));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    return UniqueFd();
  }
  return fd;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Pump(int from, int to) {
  std::array<char, 64 << 10> bytes;
  for (;;) {
    const ssize_t got = recv(from, bytes.data(), bytes.size(), 0);
    if (got <= 0) break;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t size = send(to, bytes.data() + sent,
                                static_cast<size_t>(got - sent), MSG_NOSIGNAL);
      if (size <= 0) break;
      sent += size;
    }
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace

struct CuttingProxy::Connection {
  Connection(UniqueFd a, UniqueFd b)
      : client(std::move(a)), server(std::move(b)) {
    up = std::thread([this] { Pump(client.get(), server.get()); });
    down = std::thread([this] { Pump(server.get(), client.get()); });
  }
  // Bytes that are on their way are lost, and both ends get a reset.
  ~Connection() {
    const linger at_once = {1, 0};
    for (const int fd : {client.get(), server.get()}) {
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      shutdown(fd, SHUT_RDWR);
    }
    up.join();
    down.join();
  }

  const UniqueFd client;
  const UniqueFd server;
  std::thread up;
  std::thread down;
};

CuttingProxy::CuttingProxy(const std::string& target, uint64_t seed)
    : target_(target), listener_(Listen()) {
  acceptor_ = std::thread([this] { Accept(); });
  cutter_ = std::thread([this, seed] { CutAtRandom(seed); });
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  cutter_.join();
  CutAll();
}

std::string CuttingProxy::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return absl::StrCat("tcp:127.0.0.1:", ntohs(address.sin_port));
}

void CuttingProxy::Accept() {
  while (!stopping_) {
    UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid() || unplugged_) continue;
    UniqueFd server = ConnectTo(target_);
    if (!server.valid()) continue;
    SendAtOnce(client.get());
    SendAtOnce(server.get());
    absl::MutexLock lock(&mutex_);
    connections_.push_back(
        std::make_unique<Connection>(std::move(client), std::move(server)));
  }
}

void CuttingProxy::CutAtRandom(uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!stopping_) {
    absl::SleepFor(absl::Milliseconds(50 + random() % 150));
    if (cutting_) CutAll();
  }
}

void CuttingProxy::CutAll() {
  std::vector<std::unique_ptr<Connection>> connections;
  {
    absl::MutexLock lock(&mutex_);
    connections.swap(connections_);
  }
  cuts_ += connections.size();
}

void CuttingProxy::Unplug() {
  unplugged_ = true;
  CutAll();
}

}  // namespace holdfast::e2e
