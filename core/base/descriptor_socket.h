// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
#define HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Connects to the SOCK_SEQPACKET socket at `path`. Connecting, and each later
// send and receive on the connection, fails after 10 s. UNAVAILABLE: no process
// listens, or its queue stays full. INVALID_ARGUMENT: the path is too long for
// a socket.
absl::StatusOr<UniqueFd> ConnectToDescriptorSocket(const std::string& path);

// Sends a duplicate of `fd` to the executor whose descriptor socket is at
// `path`, as described in transfers.proto; the caller keeps `fd`. Returns the
// token of 16 bytes by which a later call names the descriptor. `session_token`
// has 16 bytes. Blocks for the executor's answer, for at most 10 s.
// UNAVAILABLE: no process accepts the connection, or no answer came.
// FAILED_PRECONDITION: the executor refused the descriptor; the message has its
// reason. Also fails as ConnectToDescriptorSocket does.
absl::StatusOr<std::string> SendFd(const std::string& path,
                                   const std::string& session_token, int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
