// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_IDENTITY_PEER_TABLE_H_
#define HOLDFAST_SERVER_IDENTITY_PEER_TABLE_H_

#include <grpcpp/server_context.h>
#include <sys/types.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/identity/identity.h"

namespace holdfast {

// The peers of Unix connections, as the kernel reports them. The key is the
// name that gRPC gives to a connection that it gets as a descriptor: "fd:17".
// Thread-safe.
//
// An identity belongs to an authenticated client, not to a connection or
// process.
class PeerTable {
 public:
  // Adds an accepted Unix connection. It replaces an earlier connection with
  // the same descriptor number. Returns the name of the peer's identity
  // (NameOf). `may_operate` is false if the connection's user can be no
  // operator.
  std::string Add(int fd, bool may_operate = true);

  // Returns true if the user of this connection may be an operator. Also
  // returns true for TCP connections, which have no users.
  bool MayOperate(absl::string_view peer) const;

  // Describes a peer for humans: "unix uid=1000 pid=4711" or "tcp
  // 10.0.0.7:50122". `peer` is the result of grpc::ServerContext::peer().
  std::string Describe(absl::string_view peer) const;

  // Returns the identity of the other end of the call's connection: its user,
  // its certificate or its address.
  Identity IdentityOf(const grpc::ServerContextBase& context) const;

  // Returns the identity of a connection's peer, without its certificate.
  // `peer` is the result of grpc::ServerContext::peer().
  Identity IdentityOfPeer(absl::string_view peer) const;

  // Returns true for a client on a Unix socket, which is on this machine.
  static bool IsLocal(absl::string_view peer);

 private:
  struct Peer {
    UserIdentity user;
    pid_t pid = 0;
    bool may_operate = true;
  };

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_IDENTITY_PEER_TABLE_H_
