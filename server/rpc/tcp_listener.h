// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_TCP_LISTENER_H_
#define HOLDFAST_SERVER_RPC_TCP_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/rpc/accept_thread.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/kept_sockets.h"

namespace holdfast {

// Listening TCP sockets, one for each address that a host name has.
//
// Connections use the kernel's keepalive: a peer whose machine has vanished is
// noticed after kDeadPeerSeconds. A stopped process does not count as dead.
class TcpListener {
 public:
  // 30 s until the first probe, then 4 of them, 5 s apart.
  static constexpr int kDeadPeerSeconds = 50;

  // Port 0 takes a free port, the same for each address. Uses sockets of the
  // earlier daemon if there are any. At least one address of the name must
  // work. UNAVAILABLE: the address is in use, or does not belong to this
  // machine.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(
      const Endpoint& endpoint, KeptSockets* kept = nullptr);

  // The sockets, borrowed. REQUIRES: Start was not called.
  const std::vector<UniqueFd>& sockets() const { return sockets_; }

  // The actual port, also if the endpoint's is 0.
  uint16_t port() const { return port_; }

  // Starts accepting; see AcceptThread. Called once.
  void Start(const std::function<void(UniqueFd)>& on_connection);

 private:
  // For messages.
  explicit TcpListener(std::string address) : address_(std::move(address)) {}

  const std::string address_;
  uint16_t port_ = 0;
  std::vector<UniqueFd> sockets_;
  std::vector<std::unique_ptr<AcceptThread>> threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_TCP_LISTENER_H_
