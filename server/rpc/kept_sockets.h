// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
#define HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {

// The listening sockets of the earlier daemon. Clients that have connected
// while no daemon was running wait in them. Not thread-safe.
class KeptSockets {
 public:
  KeptSockets() = default;
  explicit KeptSockets(std::vector<UniqueFd> sockets)
      : sockets_(std::move(sockets)) {}

  // Takes out the socket with this address; port 0 matches any port. Returns an
  // invalid UniqueFd if there is none.
  UniqueFd Take(const sockaddr& address);
  // The same for a Unix socket.
  UniqueFd TakeUnix(const std::string& path);

 private:
  std::vector<UniqueFd> sockets_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
