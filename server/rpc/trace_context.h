// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_TRACE_CONTEXT_H_
#define HOLDFAST_SERVER_RPC_TRACE_CONTEXT_H_

#include <grpcpp/server_context.h>

#include "absl/strings/string_view.h"
#include "core/base/log_scope.h"

namespace holdfast {

// The trace that a call belongs to, as W3C Trace Context and OpenTelemetry send
// it in the metadata `traceparent`:
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//
// Returns the trace_id and span_id of a traceparent. Returns empty fields for a
// text of another form, as the standard demands, so that no call fails because
// of it.
LogFields ParseTraceParent(absl::string_view value);

// Returns the trace of a call; empty fields if the call has no valid one.
LogFields TraceOf(const grpc::ServerContextBase& context);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_TRACE_CONTEXT_H_
