// SPDX-License-Identifier: Apache-2.0
//
// Bounds on what an executor says that the supervisor keeps and shows to
// others. A message of the channel may have 64 MiB, and an executor that its
// client has taken over sends what it likes.
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

// Cuts the texts of errors and faults: names of kernels are as long as clients
// like. Texts are valid UTF-8 afterwards. Drops a list of losses that is too
// long; its count stays.
void Shorten(internal::FromExecutor* message);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_REPORT_H_
