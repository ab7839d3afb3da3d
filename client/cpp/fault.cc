// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/fault.h"

#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "client/cpp/compile/source_lines.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "core/base/source_name.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

constexpr char kTypeUrl[] = "holdfast/fault_report";

std::string Triple(const v1::Dim3& at) {
  return absl::StrCat("(", at.x(), ",", at.y(), ",", at.z(), ")");
}

// Whether the cause names the kernel and the place, as the software driver's
// does.
bool CauseTellsPlace(const v1::FaultReport& report) {
  return absl::StrContains(
      report.cause().message(),
      absl::StrCat("kernel ", report.kernel(), ", block ("));
}

std::string PlaceOf(const v1::FaultReport& report) {
  std::string place = absl::StrCat("kernel ", WithSourceNames(report.kernel()));
  if (report.has_block()) {
    absl::StrAppend(&place, ", block ", Triple(report.block()));
  }
  if (report.has_thread()) {
    absl::StrAppend(&place, ", thread ", Triple(report.thread()));
  }
  if (!report.source_line().empty()) {
    absl::StrAppend(&place, ", ", report.source_line());
  }
  return place;
}

// "\n  at: ", what the cause does not tell of the place, and the line of the
// source, if it is known.
std::string PlaceLine(const v1::FaultReport& report) {
  if (report.kernel().empty()) return "";
  const std::string line = SourceLineAt(report.source_line(), report.kernel());
  const bool is_told = CauseTellsPlace(report);
  if (is_told && line.empty()) return "";
  return absl::StrCat(
      "\n  at: ", is_told ? report.source_line() : PlaceOf(report),
      line.empty() ? "" : ":  ", line);
}

// The cause as the beginning of a sentence. A GPU's driver does not name the
// kernel; it is added if the journal has only one unfinished kernel.
std::string CauseClause(const v1::FaultReport& report) {
  std::string clause = WithSourceNames(report.cause().message());
  if (absl::EndsWith(clause, ".")) clause.pop_back();
  if (!report.kernel().empty() &&
      !absl::StrContains(report.cause().message(),
                         absl::StrCat("kernel ", report.kernel()))) {
    absl::StrAppend(&clause, report.has_thread() ? "; at " : "; unfinished: ",
                    PlaceOf(report));
  }
  return clause;
}

// The numbers from `first` to `last`: "3 to 5", "3", "none".
std::string Numbers(uint64_t first, uint64_t last) {
  if (first > last) return "none";
  if (first == last) return absl::StrCat(first);
  return absl::StrCat(first, " to ", last);
}

// "\n  commands: 1 to 14 completed, 15 to 17 may have run, none dropped". Work
// may be done that no wait has told of: that is not "none completed".
std::string CommandsLine(const v1::FaultReport& report) {
  const uint64_t completed = report.completed_through();
  const uint64_t submitted = report.submitted_through();
  const bool unknown = completed == 0 && submitted > 0;
  return absl::StrCat("\n  commands: ", Numbers(1, completed),
                      unknown ? " known to have completed, " : " completed, ",
                      Numbers(completed + 1, submitted), " may have run, ",
                      Numbers(submitted + 1, report.received_through()),
                      " dropped");
}

// The end of a fault's message.
absl::string_view End(AfterFault after) {
  switch (after) {
    case AfterFault::kWaits:
      return "; it waits until it is told to recover, with the memory and the "
             "objects that it had";
    case AfterFault::kContextIsLost:
      return "; the program's context is lost: as with CUDA's driver, every "
             "later call fails";
    default:
      return "; it goes on, with the memory and the objects that it had";
  }
}

}  // namespace

std::optional<v1::FaultReport> FaultOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  v1::FaultReport report;
  if (!payload.has_value() || !report.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return report;
}

std::optional<FaultSummary> SummarizeFault(const absl::Status& status) {
  const std::optional<v1::FaultReport> report = FaultOf(status);
  if (!report.has_value()) return std::nullopt;
  return FaultSummary{.epoch = report->epoch(),
                      .submitted_through = report->submitted_through(),
                      .kernel = report->kernel(),
                      .description = DescribeFault(*report)};
}

absl::Status FaultStatus(absl::string_view session_id,
                         const v1::FaultReport& report, AfterFault after) {
  absl::Status status = absl::AbortedError(
      absl::StrCat("session ", session_id,
                   " has faulted: ", CauseClause(report), End(after)));
  if (const auto detail = GetErrorDetail(ToStatus(report.cause()));
      detail.has_value()) {
    SetErrorDetail(*detail, &status);
  }
  SetFaultEpoch(report.epoch(), &status);
  status.SetPayload(kTypeUrl, absl::Cord(report.SerializeAsString()));
  return status;
}

std::string MessageWith(const absl::Status& fault, AfterFault after) {
  absl::string_view message = fault.message();
  for (const AfterFault other : {AfterFault::kGoesOn, AfterFault::kWaits}) {
    message = absl::StripSuffix(message, End(other));
  }
  return absl::StrCat(message, End(after));
}

std::string DescribeFault(const v1::FaultReport& report) {
  return absl::StrCat("fault of epoch ", report.epoch(), ": ",
                      WithSourceNames(report.cause().message()),
                      DescribeFaultWithoutCause(report));
}

std::string DescribeFaultWithoutCause(const v1::FaultReport& report) {
  std::string text = PlaceLine(report);
  absl::StrAppend(&text, CommandsLine(report));
  for (const std::string& command : report.last_commands()) {
    absl::StrAppend(&text, "\n    ", WithSourceNames(command));
  }
  if (report.lost_count() == 0) return text;
  absl::StrAppend(&text, "\n  lost: ", report.lost_count());
  for (const v1::LostResource& lost : report.lost()) {
    absl::StrAppend(&text, "\n    0x", absl::Hex(lost.handle()), ": ",
                    lost.reason());
  }
  return text;
}

}  // namespace holdfast
