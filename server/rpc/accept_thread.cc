// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/accept_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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
      address_(std::move(address)),
      on_connection_(std::move(on_connection)) {
  thread_ = std::thread([this] { Run(); });
}

AcceptThread::~AcceptThread() {
  shutdown(socket_.get(), SHUT_RDWR);  // Makes accept fail.
  thread_.join();
}

void AcceptThread::Run() {
  bool warned = false;
  while (true) {
    UniqueFd connection(
        accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      warned = false;
      on_connection_(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EINVAL) return;  // Shut down.
    // Out of descriptors or memory: another connection has to end first.
    if (!std::exchange(warned, true)) {
      LogWarning("accept on ", address_, ": ", strerror(errno));
    }
    absl::SleepFor(kNoDescriptorsPause);
  }
}

}  // namespace holdfast
