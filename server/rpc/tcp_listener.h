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

// Listening TCP sockets, one for each address of a host name.
//
// Connections use the kernel's keepalive: the kernel closes a connection
// kDeadPeerSeconds after the peer's machine has vanished. A stopped process
// does not count as vanished.
class TcpListener {
 public:
  // The first probe is sent after 30 s, and the next ones 5 s apart; the
  // connection ends after 4 probes without an answer.
  static constexpr int kDeadPeerSeconds = 50;

  // Listens on each address of the endpoint's host name; at least one address
  // must work. Port 0 takes a free port, the same for each address. Uses
  // sockets in `kept` that have these addresses; `kept` may be null.
  // UNAVAILABLE: the address is in use, or does not belong to this machine.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(
      const Endpoint& endpoint, KeptSockets* kept = nullptr);

  // The sockets, borrowed. REQUIRES: Start was not called.
  const std::vector<UniqueFd>& sockets() const { return sockets_; }

  // Returns the actual port, even if the endpoint's port is 0.
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
