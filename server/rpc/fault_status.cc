// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/fault_status.h"

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"

namespace holdfast {

absl::Status FaultedError(uint64_t epoch) {
  absl::Status status = absl::AbortedError(
      absl::StrCat("a fault has ended epoch ", epoch,
                   " of the session: AcknowledgeFault tells which"));
  SetErrorDetail({}, &status);
  SetFaultEpoch(epoch, &status);
  return status;
}

absl::Status SuspendedError(uint64_t epoch) {
  absl::Status status =
      absl::AbortedError(absl::StrCat("the session was suspended in epoch ",
                                      epoch, ": AcknowledgeFault resumes it"));
  SetErrorDetail({}, &status);
  SetFaultEpoch(epoch, &status);
  SetSuspended(&status);
  return status;
}

}  // namespace holdfast
