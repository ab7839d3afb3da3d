// SPDX-License-Identifier: Apache-2.0
//
// Transfers whose bytes come and go in gRPC's messages: those of clients on
// this machine that share no memory, and of remote ones that find no pipe.
// Uploads are copied once, into page-locked staging blocks, and downloads are
// sent from there.
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/executor/session/session.h"
#include "server/rpc/served_stream.h"

namespace holdfast::executor {

// Waits for the client's messages, and for blocks of the staging. Returns how
// many bytes are in the buffer. CANCELLED: the client has given up.
absl::StatusOr<uint64_t> ReceiveUpload(ServedStream& call, Session& session);

// The same for what the client asks for. Ends the call with the last message,
// if it succeeds.
absl::Status SendDownload(ServedStream& call, Session& session);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_
