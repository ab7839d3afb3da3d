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

  // Returns the name under which the daemon keeps a socket. A socket that was
  // taken out here keeps the earlier daemon's name, because the service manager
  // has the socket under this name. Any other socket gets a new name. `kind`:
  // see KeptName.
  KeptName NameOf(int socket, const std::string& kind);

 private:
  std::vector<KeptDescriptor> sockets_;
  // The numbers in the names of the sockets that were taken out, by descriptor.
  std::map<int, uint64_t> taken_;
  uint64_t last_number_ = 0;  // the highest number of a name
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_KEPT_SOCKETS_H_
