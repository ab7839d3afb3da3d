// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_CLIENT_ENTRANCE_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_CLIENT_ENTRANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/connection_monitor.h"

namespace holdfast::executor {

// Bounds the connections to a session's socket. Every user of the daemon may
// connect to the socket. A connection is a stranger until one of its calls has
// carried the session's token. A stranger may have few streams. If there are
// kMaxStrangers when another one connects, a random stranger is closed: so a
// new connection always has room, and an attacker cannot choose the connection
// that is closed. connection_limits.h has the limits. Thread-safe.
class ClientEntrance {
 public:
  ClientEntrance();

  // Registers an accepted connection. Must be called before gRPC gets the
  // connection. Returns false if it is refused; the caller must then close it.
  bool Admit(int fd);

  // Notes that a call of the connection has carried the token. `peer` is the
  // call's grpc::ServerContext::peer().
  void Welcome(const std::string& peer);

 private:
  // Closes a stranger if there are kMaxStrangers.
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ConnectionMonitor monitor_;
  absl::Mutex mutex_;
  uint64_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;
  // Peers, at most kMaxStrangers; some may have left.
  std::vector<std::string> strangers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_CLIENT_ENTRANCE_H_
