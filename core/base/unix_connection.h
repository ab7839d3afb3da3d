// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_
#define HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Connects to the socket of `type`, SOCK_STREAM or SOCK_SEQPACKET, at `path`.
// Blocks until the listener's queue has room; does not wait until the listener
// accepts the connection. Connecting, and later each send and receive, fails
// after `limit`. UNAVAILABLE: no process listens, or its queue stays full.
// INVALID_ARGUMENT: the path is too long for a socket.
absl::StatusOr<UniqueFd> ConnectToUnixSocket(const std::string& path, int type,
                                             absl::Duration limit);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_
