// SPDX-License-Identifier: Apache-2.0
//
// Transfers whose bytes travel in gRPC messages: for local clients without
// shared memory, and for remote clients without a pipe. Uploads are copied
// once, into page-locked staging blocks. Downloads are sent from such blocks.
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/executor/session/session.h"
#include "server/rpc/served_stream.h"

namespace holdfast::executor {

// Receives an upload. Waits for the client's messages and for staging blocks.
// Returns the number of bytes in the buffer. CANCELLED: the client has given
// up.
absl::StatusOr<uint64_t> ReceiveUpload(ServedStream& call, Session& session);

// Sends the range that the client requests. If it succeeds and the range is not
// empty, the last message ends the call.
absl::Status SendDownload(ServedStream& call, Session& session);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_STREAM_TRANSFER_H_
