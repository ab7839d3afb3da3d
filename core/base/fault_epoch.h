// SPDX-License-Identifier: Apache-2.0
//
// The part of an absl::Status that reports a fault of a session: the session's
// executor died, and the session continues after the client has acknowledged
// the fault. An epoch is the number of a session's executor: each new executor
// has the next epoch. The fault epoch is a payload of the status; between
// processes it is sent as ErrorDetail.fault_epoch.
#ifndef HOLDFAST_CORE_BASE_FAULT_EPOCH_H_
#define HOLDFAST_CORE_BASE_FAULT_EPOCH_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// Marks `status` as the consequence of the fault that ended `epoch`. No effect
// on an OK status.
void SetFaultEpoch(uint64_t epoch, absl::Status* status);

// Returns the epoch that the fault ended; 0 if the status has no fault epoch.
uint64_t FaultEpochOf(const absl::Status& status);

// Marks `status`, which has a fault epoch, as the status of a suspended
// session: no executor died, and no received command was dropped. The mark is a
// payload, too, and is sent as ErrorDetail.suspended. No effect on an OK
// status.
void SetSuspended(absl::Status* status);
bool IsSuspended(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_FAULT_EPOCH_H_
