// SPDX-License-Identifier: Apache-2.0
//
// The fault that a status reports: the session's executor died (from a kernel's
// illegal address, a signal, a time limit), and the session goes on in another
// one.
//
//   const absl::Status status = stream.Synchronize();
//   if (const auto fault = FaultOf(status); fault.has_value()) {
//     // Every handle is valid, and device memory is as it was left. Commands
//     // after fault->submitted_through() have not run.
//   }
#ifndef HOLDFAST_CLIENT_CPP_FAULT_H_
#define HOLDFAST_CLIENT_CPP_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

namespace v1 {
class FaultReport;
}  // namespace v1

// Returns the report, or nullopt if the status is of no fault.
std::optional<v1::FaultReport> FaultOf(const absl::Status& status);

// The status, ABORTED, that tells a fault of a session. Its ErrorDetail is that
// of the cause.
absl::Status FaultStatus(absl::string_view session_id,
                         const v1::FaultReport& report);

// The report in lines for people, without a last line feed.
std::string DescribeFault(const v1::FaultReport& report);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_FAULT_H_
