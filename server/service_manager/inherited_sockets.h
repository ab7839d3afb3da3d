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

// Returns the path of a listening Unix stream socket. INVALID_ARGUMENT: the
// descriptor is another kind of file.
absl::StatusOr<std::string> ListeningPathOf(int fd);

struct InheritedDescriptors {
  // Sockets that the service manager listens on. They outlive the process:
  // clients that connect while the daemon restarts wait instead of being
  // refused.
  InheritedSockets sockets;
  // The descriptors that an earlier daemon has stored, by their names, which
  // begin with "hf." (server/kept/kept_name.h).
  std::vector<std::pair<std::string, UniqueFd>> kept;
};

// Takes the descriptors that the service manager passes to this process, as in
// sd_listen_fds(3), and marks them close-on-exec. Unsets $LISTEN_FDS,
// $LISTEN_FDNAMES and $LISTEN_PID. Returns none if $LISTEN_PID is not this
// process. INVALID_ARGUMENT: a descriptor whose name does not begin with "hf."
// is not a listening Unix stream socket with a path, or there are too many
// descriptors. All descriptors that were taken are then closed. REQUIRES: the
// process has one thread; called once.
absl::StatusOr<InheritedDescriptors> TakeInheritedDescriptors(
    int first_fd = kFirstInheritedFd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_
