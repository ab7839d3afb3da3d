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

// A connected gRPC channel; `address` is not embedded. Each call carries
// `bearer_token`, unless that is empty. UNAVAILABLE: nobody answers there, and
// what one can do about it; INVALID_ARGUMENT: a file of a tls: address cannot
// be read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(
    const Address& address, absl::Duration timeout = absl::Seconds(10),
    const std::string& bearer_token = "");

// The same for a daemon's address, and once more a moment after it was
// UNAVAILABLE: a daemon that makes way for another may take a connection that
// it has no time to serve; the next daemon takes the second. UNAVAILABLE, of an
// address of the network, names the mistake (failed_connection.h).
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToDaemon(
    const Address& address, absl::Duration timeout,
    const std::string& bearer_token);

// A channel over one connection to the Unix socket at `path`, which is not made
// again when it ends. Its calls need not wait for the other end to answer
// first, which takes most of Connect's time. UNAVAILABLE: nobody is there.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectOnce(
    const std::string& path, absl::Duration limit);

// "no Holdfast daemon at unix:/x: <why>; start one with ..."
absl::Status NoDaemonError(const Address& address, absl::string_view why);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_CHANNEL_H_
