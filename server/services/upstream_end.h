// SPDX-License-Identifier: Apache-2.0
//
// The end of a call that was passed on to a session's executor, as its client
// is told of it.
#ifndef HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
#define HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "server/supervisor/session.h"

namespace holdfast {

// Passes the executor's trailers on; gRPC's own are made anew from the status.
void PassTrailersOn(const grpc::ClientContext& from,
                    grpc::CallbackServerContext& to);

// True: not the executor's word, but that of a broken connection to it.
bool IsBrokenConnection(const grpc::Status& status);

// Why the connection broke: the session's loss or fault, which is noticed
// within a moment, or `status` if it has neither; the executor may have closed
// its socket and live on. Blocks for up to 2 s.
grpc::Status ExplainBroken(const supervisor::Session& session,
                           const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_UPSTREAM_END_H_
