// SPDX-License-Identifier: Apache-2.0
//
// The part of an absl::Status that tells a fault of a session: its executor
// died, and the session goes on once the fault is acknowledged. Travels as a
// payload, and between processes as ErrorDetail.fault_epoch.
#ifndef HOLDFAST_CORE_BASE_FAULT_EPOCH_H_
#define HOLDFAST_CORE_BASE_FAULT_EPOCH_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// Marks `status` as the consequence of the fault that ended `epoch`. No effect
// on an OK status.
void SetFaultEpoch(uint64_t epoch, absl::Status* status);

// Returns the epoch that a fault ended, or 0 if the status is of no fault.
uint64_t FaultEpochOf(const absl::Status& status);

// Marks `status`, which has a fault epoch, as that of a suspended session: no
// executor died, and nothing that arrived was dropped. Between processes as
// ErrorDetail.suspended.
void SetSuspended(absl::Status* status);
bool IsSuspended(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_FAULT_EPOCH_H_
