// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CREDENTIALS_H_
#define HOLDFAST_SERVER_RPC_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/rpc/endpoint.h"

namespace holdfast {

// PEM files for TCP. Without certificate and key, TCP is plain.
struct TlsFiles {
  std::string certificate;  // the server's, with its chain
  std::string key;
  std::string client_ca;  // if set, clients must show a certificate of it
};

// How clients of a TCP endpoint are spoken to. FAILED_PRECONDITION: plain TCP
// beyond loopback, which needs `insecure`, since a session token could be
// read on the way. INVALID_ARGUMENT: files that are missing or do not go
// together.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTcpCredentials(
    const Endpoint& endpoint, const TlsFiles& files, bool insecure);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CREDENTIALS_H_
