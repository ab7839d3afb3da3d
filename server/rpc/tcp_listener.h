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
// A connection gets the kernel's keepalive: a peer whose machine is gone
// without a word is noticed after kDeadPeerSeconds. A stopped process is not
// taken for a dead one.
class TcpListener {
 public:
  // 30 s until the first probe, then 4 of them, 5 s apart.
  static constexpr int kDeadPeerSeconds = 50;

  // Port 0 takes a free port, the same for each address; sockets of the daemon
  // before this one are taken where there are any. UNAVAILABLE: the address is
  // in use or not of this machine. At least one address of the name has to
  // work; others may fail.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(
      const Endpoint& endpoint, KeptSockets* kept = nullptr);

  // Until Start. They stay the listener's.
  const std::vector<UniqueFd>& sockets() const { return sockets_; }

  // The one that was taken, if the endpoint's is 0.
  uint16_t port() const { return port_; }

  // Starts accepting; see AcceptThread. Once.
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
