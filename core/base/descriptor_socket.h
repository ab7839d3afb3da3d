// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
#define HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Connects to the SOCK_SEQPACKET socket at `path`. Waiting for an answer on the
// connection fails after 10 s. UNAVAILABLE: no process accepts it.
absl::StatusOr<UniqueFd> ConnectToDescriptorSocket(const std::string& path);

// Sends a duplicate of `fd` to the executor with the descriptor socket at
// `path`, as described in transfers.proto. Returns the token of 16 bytes by
// which a call then names the descriptor. `session_token` has 16 bytes.
// UNAVAILABLE: no process accepts the connection. FAILED_PRECONDITION: the
// executor refused the descriptor; the message has its reason.
absl::StatusOr<std::string> SendFd(const std::string& path,
                                   const std::string& session_token, int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
