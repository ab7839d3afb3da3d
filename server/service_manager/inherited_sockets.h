// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Listening Unix sockets by their path, without "unix:".
using InheritedSockets = std::map<std::string, UniqueFd>;

// The first descriptor that a service manager passes: sd_listen_fds(3).
inline constexpr int kFirstInheritedFd = 3;

// Takes the sockets that the service manager listens on for this process, as
// sd_listen_fds(3) describes, and marks them close-on-exec. They outlive the
// process: clients that connect while the daemon restarts wait instead of being
// refused. Unsets $LISTEN_FDS and $LISTEN_PID. Returns none if $LISTEN_PID is
// not this process.
// INVALID_ARGUMENT: a descriptor is no listening Unix stream socket with a
// path; all of them are closed then.
// REQUIRES: the process has one thread; called once.
absl::StatusOr<InheritedSockets> TakeInheritedSockets(
    int first_fd = kFirstInheritedFd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_INHERITED_SOCKETS_H_
