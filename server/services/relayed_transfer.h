// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_RELAYED_TRANSFER_H_
#define HOLDFAST_SERVER_SERVICES_RELAYED_TRANSFER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "holdfast/internal/transfers.pb.h"
#include "server/relay/transfer_pipes.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/stall_guard.h"
#include "server/supervisor/session.h"

namespace holdfast {

using TransferDirection = internal::BeginTransfer::Direction;

// An Upload or a Download of a remote client, which the daemon passes on to the
// session's executor through a pipe. The bytes are copied once on their way up,
// from gRPC's slices to where the device reads them, and not at all on their
// way down:
//
//   upload    client ── TCP, TLS ── slices ──copied──▶ slot ──▶ device
//   download  client ── TCP, TLS ── sent ◀── slot ◀── device
//
// Returns the call, which is served by one of `threads` and deletes itself.
// `stall_guard` gives up a client that does not go on. Both must outlive it.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RelayTransfer(
    grpc::CallbackServerContext* context, TransferDirection direction,
    std::shared_ptr<supervisor::Session> session,
    std::shared_ptr<TransferPipes::Lease> lease, StallGuard& stall_guard,
    CallThreads& threads);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_RELAYED_TRANSFER_H_
