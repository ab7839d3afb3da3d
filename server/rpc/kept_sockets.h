// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
#define HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_name.h"

namespace holdfast {

// The listening sockets of the earlier daemon. Connections that clients have
// made while no daemon was running are in their queues. Not thread-safe.
class KeptSockets {
 public:
  KeptSockets() = default;
  // `sockets` have the names of the earlier daemon.
  explicit KeptSockets(std::vector<KeptDescriptor> sockets);

  // Removes and returns the socket with this address; port 0 matches any port.
  // Returns an invalid UniqueFd if there is no such socket.
  UniqueFd Take(const sockaddr& address);
  // Like Take, for the Unix socket at `path`.
  UniqueFd TakeUnix(const std::string& path);

  // Returns the name by which the daemon keeps a socket: the earlier daemon's
  // name for a socket that was taken out here, so that the service manager's
  // socket of this name is this one; a new name for any other socket. `kind`:
  // see KeptName.
  KeptName NameOf(int socket, const std::string& kind);

 private:
  std::vector<KeptDescriptor> sockets_;
  std::map<int, uint64_t> taken_;  // the numbers of sockets' names
  uint64_t last_number_ = 0;       // of all names
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
