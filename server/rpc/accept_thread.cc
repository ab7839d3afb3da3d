// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/accept_thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"

namespace holdfast {
namespace {

constexpr absl::Duration kNoDescriptorsPause = absl::Milliseconds(100);

}  // namespace

AcceptThread::AcceptThread(UniqueFd socket, std::string address,
                           std::function<void(UniqueFd)> on_connection)
    : socket_(std::move(socket)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      address_(std::move(address)),
      on_connection_(std::move(on_connection)) {
  thread_ = std::thread([this] { Run(); });
}

AcceptThread::~AcceptThread() {
  // Not by shutdown(2), unless there was no descriptor for stop_: it would end
  // the socket for the service manager, too, where that listens on it.
  const uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) < 0) {
    shutdown(socket_.get(), SHUT_RDWR);  // Makes accept fail.
  }
  thread_.join();
}

void AcceptThread::Run() {
  bool warned = false;
  while (true) {
    pollfd events[] = {{.fd = socket_.get(), .events = POLLIN},
                       {.fd = stop_.get(), .events = POLLIN}};
    poll(events, 2, -1);
    if (events[1].revents != 0) return;
    UniqueFd connection(
        accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      warned = false;
      on_connection_(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN) continue;
    if (errno == EINVAL) return;  // Shut down.
    // Out of descriptors or memory: another connection has to end first.
    if (!std::exchange(warned, true)) {
      LogWarning("accept on ", address_, ": ", strerror(errno));
    }
    absl::SleepFor(kNoDescriptorsPause);
  }
}

}  // namespace holdfast
