// SPDX-License-Identifier: Apache-2.0
//
// Bounds on the parts of an executor's messages that the supervisor keeps and
// shows to others. A message of the channel may have 64 MiB, and a compromised
// executor can send any message.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_

#include <cstddef>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::supervisor {

// The limit of a Usage message, in bytes. It usually has 1 KiB. CheckReport
// refuses a larger message.
inline constexpr size_t kMaxUsageBytes = 64 << 10;
// The limit of a Serving message, in bytes. Shorten drops the list `lost` of a
// larger message.
inline constexpr size_t kMaxLostBytes = 256 << 10;

// The limit of a Ready message, in bytes: the executor's description of itself
// and its devices. CheckReport refuses a larger message.
inline constexpr size_t kMaxReportBytes = 256 << 10;

// The limit of each text of an error or a fault, in bytes. Shorten cuts longer
// texts.
inline constexpr size_t kMaxFaultText = 8 << 10;

// Checks the sizes of a message. INVALID_ARGUMENT: a Usage or Ready message is
// over its limit. No correct executor sends such a message, so the caller must
// end the executor. The error names the size and the limit.
absl::Status CheckReport(const internal::FromExecutor& message);

// Cuts the texts of errors and faults, which contain kernel names of any
// length; a cut text is valid UTF-8. Drops the details of an error of more than
// 2 * kMaxFaultText bytes. Drops the list `lost` of a Serving message over its
// limit; the count of lost resources stays.
void Shorten(internal::FromExecutor* message);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_
