// SPDX-License-Identifier: Apache-2.0
//
// Bytes between ordinary memory and a buffer, through memory that client and
// executor share: several threads copy pieces to slots of the ring while the
// device copies from others, or the reverse.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/session_state.h"
#include "client/cpp/transfer/staging_ring.h"
#include "client/cpp/transfer/transfer_target.h"

namespace holdfast {

// Return when the bytes are there; the first failure of a piece.
absl::Status StagedUpload(SessionState& session, StagingRing& ring,
                          const TransferTarget& target, const char* data);
absl::Status StagedDownload(SessionState& session, StagingRing& ring,
                            const TransferTarget& target, char* data);

// For few bytes, which one slot takes. Returns when `data` may be used again;
// TakeFailure tells what fails afterwards. False: no slot is free.
absl::StatusOr<bool> UploadThroughSlot(SessionState& session, StagingRing& ring,
                                       const TransferTarget& target,
                                       const char* data);
// For few bytes: returns when they are there. Waits as CommandQueue::Call does.
// False: no slot is free.
absl::StatusOr<bool> DownloadThroughSlot(SessionState& session,
                                         StagingRing& ring,
                                         const TransferTarget& target,
                                         char* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_
