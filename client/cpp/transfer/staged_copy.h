// SPDX-License-Identifier: Apache-2.0
//
// Copies between ordinary memory and a buffer through memory that client and
// executor share. For an upload, several threads copy pieces into slots of the
// ring while the device copies from other slots; a download is the reverse.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/transfer/staging_ring.h"
#include "client/cpp/transfer/transfer_target.h"

namespace holdfast {

// Block until all bytes are copied. Return the first failure of a piece.
absl::Status StagedUpload(SessionState& session, StagingRing& ring,
                          const TransferTarget& target, const char* data);
absl::Status StagedDownload(SessionState& session, StagingRing& ring,
                            const TransferTarget& target, char* data);

// Uploads bytes that fit in one slot. Returns when `data` may be reused;
// TakeFailure returns later failures. Returns false if no slot is free.
absl::StatusOr<bool> UploadThroughSlot(SessionState& session, StagingRing& ring,
                                       const TransferTarget& target,
                                       const char* data);
// Downloads bytes that fit in one slot, and waits for them as
// CommandQueue::Call does. Returns false if no slot is free.
absl::StatusOr<bool> DownloadThroughSlot(SessionState& session,
                                         StagingRing& ring,
                                         const TransferTarget& target,
                                         char* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_STAGED_COPY_H_
