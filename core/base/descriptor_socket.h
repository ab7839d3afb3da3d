// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
#define HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// A connection to the SOCK_SEQPACKET socket at `path`, which gives up on an
// answer after 10 s. UNAVAILABLE: nobody there.
absl::StatusOr<UniqueFd> ConnectToDescriptorSocket(const std::string& path);

// Hands a duplicate of `fd` to the executor whose descriptor socket is at
// `path`, as transfers.proto says; returns the token, 16 bytes, by which a call
// then names it. `session_token`: 16 bytes. UNAVAILABLE: nobody there;
// FAILED_PRECONDITION: it was not taken, and why.
absl::StatusOr<std::string> SendFd(const std::string& path,
                                   const std::string& session_token, int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_DESCRIPTOR_SOCKET_H_
