// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/fd_receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "server/rpc/connection_limits.h"

namespace holdfast::executor {
namespace {

// Takes over every descriptor that came, so that none stays open.
std::vector<UniqueFd> TakeDescriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FdReceiver>> FdReceiver::Serve(
    UniqueFd socket, std::string session_token) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  // A client that asked for a connection may be gone when it is accepted.
  if (!stop.valid() || fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "serve a socket for descriptors");
  }
  return std::unique_ptr<FdReceiver>(new FdReceiver(
      std::move(socket), std::move(stop), std::move(session_token)));
}

FdReceiver::FdReceiver(UniqueFd socket, UniqueFd stop,
                       std::string session_token)
    : socket_(std::move(socket)),
      stop_(std::move(stop)),
      session_token_(std::move(session_token)),
      thread_([this] { Loop(); }) {}

FdReceiver::~FdReceiver() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void FdReceiver::Loop() {
  std::deque<UniqueFd> connections;
  for (;;) {
    std::vector<pollfd> waits = {{stop_.get(), POLLIN, 0},
                                 {socket_.get(), POLLIN, 0}};
    for (const UniqueFd& connection : connections) {
      waits.push_back({connection.get(), POLLIN, 0});
    }
    if (poll(waits.data(), waits.size(), /*timeout=*/-1) < 0) continue;
    if (waits[0].revents != 0) return;
    const auto spoke = [&](const UniqueFd& connection) {
      return std::any_of(waits.begin() + 2, waits.end(), [&](const pollfd& w) {
        return w.fd == connection.get() && w.revents != 0;
      });
    };
    for (auto it = connections.begin(); it != connections.end();) {
      if (!spoke(*it)) {
        ++it;
        continue;
      }
      Answer(it->get());
      it = connections.erase(it);
    }
    if (waits[1].revents != 0) AcceptOne(connections);
  }
}

void FdReceiver::AcceptOne(std::deque<UniqueFd>& connections) {
  UniqueFd connection(
      accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid()) {
    // Perhaps we are out of descriptors: whoever says nothing has to go, and
    // who comes next waits for a moment.
    connections.clear();
    absl::SleepFor(absl::Milliseconds(10));
    return;
  }
  connections.push_back(std::move(connection));
  if (connections.size() > kMaxConnections) connections.pop_front();
}

void FdReceiver::Answer(int connection) {
  const absl::Status status = Take(connection);
  if (!status.ok()) {
    LogFor(kStrangers, LogLevel::kWarning, "a descriptor: ", status.message());
  }
  const std::string answer =
      status.ok() ? std::string(1, '\0') : std::string(status.message());
  static_cast<void>(send(connection, answer.data(), answer.size(),
                         MSG_NOSIGNAL | MSG_DONTWAIT));
}

absl::Status FdReceiver::Take(int connection) {
  char text[2 * kTokenBytes + 1];
  iovec part = {text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return absl::ErrnoToStatus(errno, "receive");
  std::vector<UniqueFd> descriptors = TakeDescriptors(message);
  if (size != 2 * kTokenBytes || descriptors.size() != 1 ||
      (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message has two tokens of ", kTokenBytes,
                     " bytes and one descriptor"));
  }
  if (!EqualTokens({text, kTokenBytes}, session_token_)) {
    return absl::UnauthenticatedError("the token is not this session's");
  }
  absl::MutexLock lock(&mutex_);
  items_.push_back({std::string(text + kTokenBytes, kTokenBytes),
                    std::move(descriptors.front())});
  if (items_.size() > kMaxWaiting) items_.pop_front();
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> FdReceiver::Claim(absl::string_view token) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(
      items_.begin(), items_.end(),
      [&](const Item& item) { return EqualTokens(item.token, token); });
  if (found == items_.end()) {
    return absl::NotFoundError(
        "no descriptor came under this token on the session's descriptor "
        "socket, which only clients on the daemon's own machine reach");
  }
  UniqueFd descriptor = std::move(found->descriptor);
  items_.erase(found);
  return descriptor;
}

}  // namespace holdfast::executor
