// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_FAULT_STATUS_H_
#define HOLDFAST_SERVER_RPC_FAULT_STATUS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// Returns ABORTED with ErrorDetail.fault_epoch, the answer to calls of a
// session whose client has not acknowledged the fault that ended `epoch`.
absl::Status FaultedError(uint64_t epoch);

// Like FaultedError, for a session that was suspended in `epoch`.
absl::Status SuspendedError(uint64_t epoch);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_FAULT_STATUS_H_
