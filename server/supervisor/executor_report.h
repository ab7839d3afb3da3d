// SPDX-License-Identifier: Apache-2.0
//
// Bounds on the parts of an executor's messages that the supervisor keeps and
// shows to others. A message of the channel may have 64 MiB, and a client that
// has taken its executor over can send any message.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_

#include <cstddef>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::supervisor {

// Limits, in bytes, of a Usage message, which usually has 1 KiB, and of a
// Serving message with its list `lost`.
//
// CheckReport refuses a Usage or Ready message over its limit, and the
// supervisor ends the executor. Shorten drops a list `lost` over its limit, and
// cuts long texts.
inline constexpr size_t kMaxUsageBytes = 64 << 10;
inline constexpr size_t kMaxLostBytes = 256 << 10;

// Bytes of an executor's description of itself and its devices.
inline constexpr size_t kMaxReportBytes = 256 << 10;

// Bytes of each text of a fault.
inline constexpr size_t kMaxFaultText = 8 << 10;

// INVALID_ARGUMENT: no executor of ours sends such a message. Names the
// message's size and its limit. The executor is to be ended.
absl::Status CheckReport(const internal::FromExecutor& message);

// Cuts the texts of errors and faults, which hold kernel names of any length,
// and makes them valid UTF-8. Drops a list `lost` that is too long; its count
// stays.
void Shorten(internal::FromExecutor* message);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_
