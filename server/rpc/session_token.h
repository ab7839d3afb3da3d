// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_SESSION_TOKEN_H_
#define HOLDFAST_SERVER_RPC_SESSION_TOKEN_H_

#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the 16 bytes of a call's session token. UNAUTHENTICATED: the call has
// no token, or the token does not have 32 hexadecimal digits.
absl::StatusOr<std::string> SessionTokenOf(
    const grpc::ServerContextBase& context);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SESSION_TOKEN_H_
