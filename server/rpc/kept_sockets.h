// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
#define HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {

// The listening sockets of the earlier daemon. Connections that clients have
// made while no daemon was running are in their queues. Not thread-safe.
class KeptSockets {
 public:
  KeptSockets() = default;
  explicit KeptSockets(std::vector<UniqueFd> sockets)
      : sockets_(std::move(sockets)) {}

  // Removes and returns the socket with this address; port 0 matches any port.
  // Returns an invalid UniqueFd if there is no such socket.
  UniqueFd Take(const sockaddr& address);
  // Like Take, for the Unix socket at `path`.
  UniqueFd TakeUnix(const std::string& path);

 private:
  std::vector<UniqueFd> sockets_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
