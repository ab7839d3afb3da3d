// SPDX-License-Identifier: Apache-2.0
#include "server/services/descriptor_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/collections/collection.h"
#include "server/identity/identity.h"

namespace holdfast {
namespace {

// The process at the other end, when it connected.
struct Peer {
  std::string user;     // as NameOf has it
  std::string process;  // "pid 4711"; 0: of another namespace
};

Peer PeerOf(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  UserIdentity user;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    user.uid = peer.uid;
  }
  return {NameOf(user), absl::StrCat("pid ", peer.pid)};
}

bool SendDescriptor(int socket, int fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  char nothing = '\0';
  iovec part = {&nothing, 1};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* const item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(item), &fd, sizeof fd);
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DescriptorServer>> DescriptorServer::Serve(
    UniqueFd socket, std::string path, ExportRegistry& exports) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid() || fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "serve descriptors of exports");
  }
  return std::unique_ptr<DescriptorServer>(new DescriptorServer(
      std::move(socket), std::move(stop), std::move(path), exports));
}

DescriptorServer::DescriptorServer(UniqueFd socket, UniqueFd stop,
                                   std::string path, ExportRegistry& exports)
    : socket_(std::move(socket)),
      stop_(std::move(stop)),
      path_(std::move(path)),
      exports_(exports),
      thread_([this] { Loop(); }) {}

DescriptorServer::~DescriptorServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  unlink(path_.c_str());
}

void DescriptorServer::Loop() {
  for (;;) {
    std::vector<pollfd> waits = {{stop_.get(), POLLIN, 0},
                                 {socket_.get(), POLLIN, 0}};
    for (const Connection& connection : connections_) {
      waits.push_back({connection.socket.get(), POLLIN, 0});
    }
    if (poll(waits.data(), waits.size(), /*timeout=*/-1) < 0) continue;
    if (waits[0].revents != 0) return;
    auto wait = waits.begin() + 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++wait) {
      const bool stays = wait->revents == 0 || Attend(*it);
      it = stays ? std::next(it) : connections_.erase(it);
    }
    if (waits[1].revents != 0) Accept();
  }
}

void DescriptorServer::Accept() {
  UniqueFd socket(
      accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const auto silent = [](const Connection& c) { return c.held == nullptr; };
  if (!socket.valid()) {
    // Perhaps we are out of descriptors: who says nothing has to go, and who
    // comes next waits for a moment.
    connections_.remove_if(silent);
    absl::SleepFor(absl::Milliseconds(10));
    return;
  }
  connections_.push_back({std::move(socket), nullptr, nullptr, nullptr});
  if (connections_.size() - holding_.used() <= kMaxSilent) return;
  connections_.erase(
      std::find_if(connections_.begin(), connections_.end(), silent));
}

bool DescriptorServer::Attend(Connection& connection) {
  char text[ExportRegistry::kTokenBytes + 1];
  // Descriptors that come along are not received: there is no room for them.
  const ssize_t size = recv(connection.socket.get(), text, sizeof text, 0);
  if (size <= 0 || connection.held != nullptr) return false;
  const absl::Status status =
      Hand(connection, std::string(text, static_cast<size_t>(size)));
  if (status.ok()) return true;
  LogDebug("a descriptor of an export: ", status.message());
  static_cast<void>(send(connection.socket.get(), status.message().data(),
                         status.message().size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  return false;
}

absl::Status DescriptorServer::Hand(Connection& connection,
                                    const std::string& token) {
  const Peer peer = PeerOf(connection.socket.get());
  auto share = std::make_unique<ShareHold>(holding_, peer.user);
  HOLDFAST_RETURN_IF_ERROR(share->Take(1));
  HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource,
                            exports_.RedeemForeign(token));
  if (resource.event != nullptr) {
    return absl::InvalidArgumentError("the export is no memory");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd fd,
                            resource.chunk->Open(resource.rights));
  // The process is a reader before it has the memory, not a moment later.
  if (resource.version != nullptr) {
    connection.reader = resource.version->OpenFor(peer.process);
  }
  if (!SendDescriptor(connection.socket.get(), fd.get())) {
    return absl::ErrnoToStatus(errno, "send a descriptor");
  }
  connection.held = std::move(resource.chunk);
  connection.share = std::move(share);
  return absl::OkStatus();
}

}  // namespace holdfast
