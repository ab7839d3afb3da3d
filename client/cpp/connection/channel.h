// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_CHANNEL_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection/address.h"
#include "grpcpp/channel.h"

namespace holdfast {

// Returns a connected gRPC channel. Each call carries `bearer_token`, unless it
// is empty. UNAVAILABLE: no daemon answers; the message has advice.
// PERMISSION_DENIED: this user may not use the socket. INVALID_ARGUMENT: a file
// of a tls: address cannot be read. REQUIRES: `address` is not embedded.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(
    const Address& address, absl::Duration timeout = absl::Seconds(10),
    const std::string& bearer_token = "");

// Connects to a daemon. After UNAVAILABLE, tries once more a moment later: a
// daemon that is being replaced may accept a connection without serving it, and
// the next daemon serves the second one. For a network address, UNAVAILABLE
// names the mistake (failed_connection.h).
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToDaemon(
    const Address& address, absl::Duration timeout,
    const std::string& bearer_token);

// Returns a channel over one connection to the Unix socket at `path`, which is
// never connected again. Faster than Connect, because calls do not wait for the
// other end to answer first. UNAVAILABLE: no process accepts the connection.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectOnce(
    const std::string& path, absl::Duration limit);

// Returns a channel on which every call fails at once. For a forked process
// (forked_process.h), in which a call on another channel would not return.
const std::shared_ptr<grpc::Channel>& RefusingChannel();

// Returns UNAVAILABLE, "no Holdfast daemon at unix:/x (<why>): start one with
// ...".
absl::Status NoDaemonError(const Address& address, absl::string_view why);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_CHANNEL_H_
