// SPDX-License-Identifier: Apache-2.0
//
// The fault that a status reports: the session's executor died (from a kernel's
// illegal address, a signal, a time limit), and the session continues in
// another executor, with RecoveryPolicy::kAsk after Session::Recover.
//
//   const absl::Status status = stream.Synchronize();
//   if (const auto fault = SummarizeFault(status); fault.has_value()) {
//     // Every handle is valid, and device memory is as it was left. Commands
//     // after fault->submitted_through have not run.
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

// A fault as a plain struct, for programs without Protocol Buffers.
struct FaultSummary {
  uint64_t epoch = 0;              // the number of the session's fault
  uint64_t submitted_through = 0;  // the last command that may have run
  std::string kernel;              // as the module names it; empty: not known
  std::string description;         // DescribeFault
};

// Returns the summary of a fault; nullopt if the status reports no fault.
std::optional<FaultSummary> SummarizeFault(const absl::Status& status);

// Returns the whole report; nullopt if the status reports no fault. Its class
// is in <holdfast/v1/faults.pb.h>.
std::optional<v1::FaultReport> FaultOf(const absl::Status& status);

// kGoesOn: the session recovers by itself. kWaits: the session recovers when
// the program calls Session::Recover (RecoveryPolicy::kAsk). kContextIsLost:
// the client does not recover the session, as in libcuda.so.1.
enum class AfterFault { kGoesOn, kWaits, kContextIsLost };

// Returns ABORTED, the status that reports a fault. It has the ErrorDetail of
// the cause.
absl::Status FaultStatus(absl::string_view session_id,
                         const v1::FaultReport& report,
                         AfterFault after = AfterFault::kGoesOn);

// Returns the message of a status of FaultStatus(), with the end that it has
// for `after`.
std::string MessageWith(const absl::Status& fault, AfterFault after);

// Returns the report as readable lines, without a line feed at the end.
std::string DescribeFault(const v1::FaultReport& report);

// Returns the lines of DescribeFault except the first, each with a line feed
// before it. The first line has the cause. A caller that prints the message of
// FaultStatus(), which has the cause too, prints these lines after it.
std::string DescribeFaultWithoutCause(const v1::FaultReport& report);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_FAULT_H_
