// SPDX-License-Identifier: Apache-2.0
//
// Answers calls of a callback service with one request and one response. A
// service must not block gRPC's threads, because they serve the connections of
// all clients, and one client could block them all.
//
// Log lines that `make` writes have the call's trace (trace_context.h).
//
//   grpc::ServerUnaryReactor* HasObjects(context, request, response) {
//     return AnswerNow(context, [&] { return store.Has(...); });
//   }
#ifndef HOLDFAST_SERVER_RPC_UNARY_CALL_H_
#define HOLDFAST_SERVER_RPC_UNARY_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/cancellable.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/trace_context.h"

namespace holdfast {

// Ends a call with this status, such as an error that is known at once. The
// service's method returns the result.
inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                        const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Answers a call with the status that `make()` returns. Runs `make` on gRPC's
// thread. REQUIRES: `make` does not wait.
template <typename Make>
grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context,
                                    const Make& make) {
  const LogScope scope(TraceOf(*context));
  return Answer(context, make());
}

// Like AnswerNow, but runs `make` in one of `threads`, within the client's
// share, so that it may wait. Request, response and context live until `make`
// returns, and `make` is destroyed before the client gets the answer. If `make`
// takes a std::stop_token, stop is requested when the call is cancelled.
// Answers RESOURCE_EXHAUSTED, without running `make`, if there is no thread for
// this client.
template <typename Make>
grpc::ServerUnaryReactor* AnswerInThread(grpc::CallbackServerContext* context,
                                         CallThreads& threads,
                                         const std::string& client, Make make) {
  auto* const call = new Cancellable<grpc::ServerUnaryReactor>;
  const absl::Status running = threads.Run(
      client, [call, trace = TraceOf(*context),
               make = std::optional<Make>(std::move(make))]() mutable {
        const LogScope scope(trace);
        absl::Status status;
        if constexpr (std::is_invocable_v<const Make&, std::stop_token>) {
          status = (*make)(call->cancelled());
        } else {
          status = (*make)();
        }
        make.reset();
        call->Finish(ToGrpcStatus(status));
      });
  if (!running.ok()) call->Finish(ToGrpcStatus(running));
  return call;
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNARY_CALL_H_
