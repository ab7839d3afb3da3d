// SPDX-License-Identifier: Apache-2.0
//
// Functions for the end of a call that was forwarded to a session's executor:
// the client's status and trailers.
#ifndef HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
#define HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "server/supervisor/session.h"

namespace holdfast {

// Copies the executor's trailers to the client's call, except for gRPC's own
// trailers, which gRPC derives from the status.
void PassTrailersOn(const grpc::ClientContext& from,
                    grpc::CallbackServerContext& to);

// Returns true if the status does not come from the executor, but from a broken
// connection to it.
bool IsBrokenConnection(const grpc::Status& status);

// Returns the status of the session's loss or fault, which explains the broken
// connection. Blocks for up to 2 s until there is one. Otherwise returns
// `status`: the executor may have closed its socket without ending.
grpc::Status ExplainBroken(const supervisor::Session& session,
                           const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
