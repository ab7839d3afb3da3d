// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_
#define HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// A Unix socket of `type`, SOCK_STREAM or SOCK_SEQPACKET, that listens at
// `path`. The file is the daemon's own until it has `mode`, so that nobody can
// connect before. Who takes the descriptor removes the file in the end.
// INVALID_ARGUMENT: the path is too long for a socket. ALREADY_EXISTS: there is
// a file.
absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& path, int type,
                                            mode_t mode);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_
