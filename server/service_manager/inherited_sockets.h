// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Listening Unix sockets by their path, without "unix:".
using InheritedSockets = std::map<std::string, UniqueFd>;

// The first descriptor that a service manager passes: sd_listen_fds(3).
inline constexpr int kFirstInheritedFd = 3;

// Returns the path that a listening Unix stream socket is bound to.
// INVALID_ARGUMENT: the descriptor is none.
absl::StatusOr<std::string> ListeningPathOf(int fd);

struct InheritedDescriptors {
  // Sockets that the service manager listens on. They outlive the process:
  // clients that connect while the daemon restarts wait instead of being
  // refused.
  InheritedSockets sockets;
  // Those that an earlier daemon has had kept, by name, which begins with "hf."
  // (server/kept/kept_name.h).
  std::vector<std::pair<std::string, UniqueFd>> kept;
};

// Takes the descriptors that the service manager has for this process, as
// sd_listen_fds(3) describes, and marks them close-on-exec. Unsets $LISTEN_FDS,
// $LISTEN_FDNAMES and $LISTEN_PID. Returns none if $LISTEN_PID is not this
// process.
// INVALID_ARGUMENT: a descriptor of another name is no listening Unix stream
// socket with a path; all of them are closed then.
// REQUIRES: the process has one thread; called once.
absl::StatusOr<InheritedDescriptors> TakeInheritedDescriptors(
    int first_fd = kFirstInheritedFd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_
