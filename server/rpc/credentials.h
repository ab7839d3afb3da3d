// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CREDENTIALS_H_
#define HOLDFAST_SERVER_RPC_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/tls_certificates.h"

namespace holdfast {

// Returns the credentials of a TCP endpoint: TLS with `certificates`, of which
// each new connection uses the latest; or plain TCP if `certificates` is null.
// FAILED_PRECONDITION: plain TCP beyond loopback without `insecure`, because
// session tokens could be read on the way.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTcpCredentials(
    const Endpoint& endpoint, std::shared_ptr<TlsCertificates> certificates,
    bool insecure);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CREDENTIALS_H_
