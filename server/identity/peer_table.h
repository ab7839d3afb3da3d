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

// Tells the peer of each Unix connection, as the kernel knows it. gRPC
// names a connection that it was handed by its descriptor, "fd:17"; that is
// the key here. Thread-safe.
//
// An identity belongs to who authenticated, not to a connection or a process.
class PeerTable {
 public:
  // To be called when a connection is accepted; replaces what an earlier
  // connection with the same number had. Returns its name, as NameOf has it.
  // `may_operate`: users are operators there.
  std::string Add(int fd, bool may_operate = true);

  // Whether a user at the end of this connection may be an operator. True for
  // connections over TCP, where there are no users.
  bool MayOperate(absl::string_view peer) const;

  // For people: "unix uid=1000 pid=4711" or "tcp 10.0.0.7:50122"; `peer` is
  // what grpc::ServerContext::peer() says.
  std::string Describe(absl::string_view peer) const;

  // Returns who makes a call.
  Identity IdentityOf(const grpc::ServerContextBase& context) const;

  // Returns who is at the end of a connection, without regard to certificates;
  // `peer` as above.
  Identity IdentityOfPeer(absl::string_view peer) const;

  // True for a client on a Unix socket, so on this machine.
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
