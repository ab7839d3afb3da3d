// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_BEARER_TOKEN_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_BEARER_TOKEN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/support/client_interceptor.h"

namespace holdfast {

// Returns the token that identifies this process's tenant to a daemon:
// $HOLDFAST_TOKEN, else the contents of the file $HOLDFAST_TOKEN_FILE without
// the white space around it; empty if neither is set. INVALID_ARGUMENT: the
// file cannot be read, or the token has bytes that a header cannot carry.
absl::StatusOr<std::string> DefaultToken();

// Returns an interceptor that adds `authorization: Bearer TOKEN` to every call
// of a channel.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
SendToken(const std::string& token);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_BEARER_TOKEN_H_
