// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_
#define HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Makes a Unix socket of `type`, SOCK_STREAM or SOCK_SEQPACKET, that listens at
// `path`. Only the daemon's user can connect until the file has `mode`. The
// caller owns the file, and must remove it in the end. INVALID_ARGUMENT: the
// path is too long for a socket. ALREADY_EXISTS: the file exists.
absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& path, int type,
                                            mode_t mode);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNIX_SOCKET_H_
