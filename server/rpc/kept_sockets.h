// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
#define HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {

// Listening sockets of the daemon before this one. Clients that connected while
// there was none wait in them. Not thread-safe.
class KeptSockets {
 public:
  KeptSockets() = default;
  explicit KeptSockets(std::vector<UniqueFd> sockets)
      : sockets_(std::move(sockets)) {}

  // Takes the one that is bound to this address out; one with any port if the
  // address's is 0. Invalid: there is none.
  UniqueFd Take(const sockaddr& address);
  // The same for a Unix socket.
  UniqueFd TakeUnix(const std::string& path);

 private:
  std::vector<UniqueFd> sockets_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
