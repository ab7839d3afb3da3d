// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_PEER_TABLE_H_
#define HOLDFAST_SERVER_RPC_PEER_TABLE_H_

#include <grpcpp/server_context.h>
#include <sys/socket.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Who is at the other end of each Unix connection, as the kernel says. gRPC
// names a connection that it was handed by its descriptor, "fd:17"; that is
// the key here. Thread-safe.
//
// A *client* is who authenticated, not a connection or a process; shares of
// what is bounded go by it:
//   "uid 1000"          on a Unix socket
//   "certificate NAME"  with a client certificate: its first subject
//                       alternative name, else its common name
//   "ip 10.0.0.7"       else; of an IPv6 address the network of 64 bits, since
//                       one machine may use all addresses in it
class PeerTable {
 public:
  // To be called when a connection is accepted; replaces what an earlier
  // connection with the same number had. Returns its client.
  std::string Add(int fd);

  // For people: "unix uid=1000 pid=4711" or "tcp 10.0.0.7:50122"; `peer` is
  // what grpc::ServerContext::peer() says.
  std::string Describe(absl::string_view peer) const;

  // Returns the client of a call.
  std::string ClientOf(const grpc::ServerContextBase& context) const;

  // Returns the client of a connection without a certificate; `peer` as above.
  std::string ClientOfPeer(absl::string_view peer) const;

  // True for a client on a Unix socket that runs as the daemon's user or root.
  bool IsOwner(absl::string_view peer) const;

  // True for a client on a Unix socket, so on this machine.
  static bool IsLocal(absl::string_view peer);

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, ucred> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_PEER_TABLE_H_
