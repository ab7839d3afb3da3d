// SPDX-License-Identifier: Apache-2.0
//
// Copies between ordinary memory and a buffer: through memory that is shared
// with the executor (staged_copy.h), in commands and their results, or, if the
// session is remote, by TransferService (transfer_stream.h). README.md
// describes the choice.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/transfer/transfer_target.h"

namespace holdfast {

// Uploads. Returns when `data` may be reused. May return failures of earlier
// commands, too.
absl::Status UploadBytes(SessionState& session, const TransferTarget& target,
                         const void* data);

// Downloads. Blocks until the bytes are in `data`. Returns failures of earlier
// commands, too.
absl::Status DownloadBytes(SessionState& session, const TransferTarget& target,
                           void* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_H_
