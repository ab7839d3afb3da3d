// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_
#define HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// A connection to the socket of `type`, SOCK_STREAM or SOCK_SEQPACKET, that
// listens at `path`. To be let in, to send and to receive may each take `limit`
// before they fail; so it returns when the listener has room, and not when
// somebody has accepted. UNAVAILABLE: nobody is there, or none has made room;
// INVALID_ARGUMENT: the path is too long for a socket.
absl::StatusOr<UniqueFd> ConnectToUnixSocket(const std::string& path, int type,
                                             absl::Duration limit);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UNIX_CONNECTION_H_
