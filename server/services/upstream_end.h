// SPDX-License-Identifier: Apache-2.0
//
// The status and trailers for the client of a call that was forwarded to a
// session's executor.
#ifndef HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
#define HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "server/supervisor/session.h"

namespace holdfast {

// Copies the executor's trailers, except for gRPC's own, which gRPC derives
// from the status.
void PassTrailersOn(const grpc::ClientContext& from,
                    grpc::CallbackServerContext& to);

// Returns true if the status does not come from the executor, but from a broken
// connection to it.
bool IsBrokenConnection(const grpc::Status& status);

// Returns the session's loss or fault, which explains the broken connection;
// `status` if there is none, because the executor may have closed its socket
// without ending. Blocks for up to 2 s.
grpc::Status ExplainBroken(const supervisor::Session& session,
                           const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
