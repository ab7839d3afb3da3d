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

// Bounds the connections to a session's socket, to which everyone may connect
// who may connect to the daemon. Until a call on it has carried the session's
// token, a connection is a stranger's: those have few streams, and of more
// than kMaxStrangers one at random is closed, so that a newcomer always finds
// room and a flood cannot tell which connection makes it. connection_limits.h
// has the limits. Thread-safe.
class ClientEntrance {
 public:
  ClientEntrance();

  // Takes note of an accepted connection before gRPC gets it. Returns false if
  // it is refused; the caller then closes it.
  bool Admit(int fd);

  // A call has carried the token; `peer` is grpc::ServerContext::peer() of it.
  void Welcome(const std::string& peer);

 private:
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ConnectionMonitor monitor_;
  absl::Mutex mutex_;
  uint64_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;
  // Peers, at most kMaxStrangers; some may have left.
  std::vector<std::string> strangers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_CLIENT_ENTRANCE_H_
