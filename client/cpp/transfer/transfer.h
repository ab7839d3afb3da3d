// SPDX-License-Identifier: Apache-2.0
//
// Bytes between ordinary memory and a buffer: through memory that is shared
// with the executor (staged_copy.h), in commands and their results, or by
// TransferService (transfer_stream.h). README.md says which when.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "client/cpp/session_state.h"
#include "client/cpp/transfer/transfer_target.h"

namespace holdfast {

// Returns when `data` may be used again.
absl::Status UploadBytes(SessionState& session, const TransferTarget& target,
                         const void* data);

// Returns when the bytes are there, with the failures of the commands before.
absl::Status DownloadBytes(SessionState& session, const TransferTarget& target,
                           void* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_
