// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/fault_history.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/utf8.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {
namespace {

// Bytes that are kept of an executor's own report.
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxMessageBytes = 4096;

std::string Cut(const std::string& text, size_t limit) {
  return ToValidUtf8(absl::string_view(text).substr(0, limit));
}

// The driver's error, without a detail that is larger than its use.
v1::Error CauseOf(const ExecutorDeath& death) {
  if (!death.fault.has_value()) return ToError(death.reason);
  v1::Error cause = death.fault->error();
  cause.set_message(Cut(cause.message(), kMaxMessageBytes));
  if (cause.details_size() > 1 || cause.ByteSizeLong() > 4 * kMaxMessageBytes) {
    cause.clear_details();
  }
  return cause;
}

}  // namespace

absl::Status FaultHistory::Note(absl::Time now) {
  ++count_;
  if (limits_.burst == 0) return absl::OkStatus();
  const double made_up = absl::FDivDuration(now - last_, limits_.pause);
  recent_ = std::max(0.0, recent_ - made_up) + 1;
  last_ = now;
  if (recent_ <= limits_.burst) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("it has faulted ", count_, " times, the last ",
                   limits_.burst + 1, " in short order; the limit is ",
                   limits_.burst, " at once and one more every ",
                   absl::FormatDuration(limits_.pause), " (--max-faults)"));
}

v1::FaultReport MakeFaultReport(const ExecutorDeath& death) {
  v1::FaultReport report;
  report.set_epoch(death.epoch);
  const int64_t nanoseconds = absl::ToUnixNanos(death.time);
  report.mutable_time()->set_seconds(nanoseconds / 1'000'000'000);
  report.mutable_time()->set_nanos(
      static_cast<int32_t>(nanoseconds % 1'000'000'000));
  *report.mutable_cause() = CauseOf(death);
  if (death.fault.has_value()) {
    const internal::Fault& fault = *death.fault;
    report.set_device(fault.device());
    report.set_kernel(Cut(fault.kernel(), kMaxNameBytes));
    if (fault.has_block()) *report.mutable_block() = fault.block();
    if (fault.has_thread()) *report.mutable_thread() = fault.thread();
    report.set_source_line(Cut(fault.source_line(), kMaxNameBytes));
  }
  if (!death.progress.ok()) return report;
  const journal::Progress& progress = *death.progress;
  if (death.fault.has_value() && report.kernel().empty()) {
    report.set_kernel(progress.kernel);
  }
  report.set_completed_through(progress.completed);
  report.set_submitted_through(progress.begun);
  report.set_received_through(progress.received);
  for (const std::string& command : progress.last_commands) {
    report.add_last_commands(command);
  }
  return report;
}

}  // namespace holdfast::supervisor
