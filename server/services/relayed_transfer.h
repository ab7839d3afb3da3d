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

// Serves an Upload or a Download of a remote client by a pipe to the session's
// executor. The call waits for a pipe if all pipes are in use. The bytes of an
// upload are copied once, from gRPC's slices to the memory that the device
// reads. The bytes of a download are not copied:
//
//   upload    client ── TCP, TLS ── slices ──copied──▶ slot ──▶ device
//   download  client ── TCP, TLS ── sent ◀── slot ◀── device
//
// Returns the call at once; gRPC owns it. The call runs on one of `threads` and
// deletes itself. `stall_guard` cancels the call if the client stalls.
// `threads` and `stall_guard` must outlive the call.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RelayTransfer(
    grpc::CallbackServerContext* context, TransferDirection direction,
    std::shared_ptr<supervisor::Session> session,
    std::shared_ptr<TransferPipes::Lease> lease, StallGuard& stall_guard,
    CallThreads& threads);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_RELAYED_TRANSFER_H_
