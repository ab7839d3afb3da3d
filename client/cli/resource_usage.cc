// SPDX-License-Identifier: Apache-2.0
#include "client/cli/resource_usage.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/command.h"
#include "core/base/handle.h"

namespace holdfast::cli {
namespace {

// One figure, by its name in the protocol.
struct Row {
  std::string name;
  v1::QuotaUsage usage;
};

// A figure that has no limit of its own.
v1::QuotaUsage UsedOnly(uint64_t used) {
  v1::QuotaUsage usage;
  usage.set_used(used);
  return usage;
}

std::vector<Row> RowsOf(const v1::SessionUsage& usage) {
  std::vector<Row> rows = {
      {"device_bytes", usage.device_bytes()},
      {"reserved_bytes", usage.reserved_bytes()},
      {"pinned_bytes", usage.pinned_bytes()},
      {"arena_bytes", usage.arena_bytes()},
      {"staging_bytes", usage.staging_bytes()},
      {"outstanding_commands", usage.outstanding_commands()},
      {"exports", usage.exports()},
      {"imports", usage.imports()},
      {"imported_bytes", UsedOnly(usage.imported_bytes())},
      {"suspended_bytes", UsedOnly(usage.suspended_bytes())}};
  for (const v1::HandleUsage& handles : usage.handles()) {
    const std::string kind = absl::AsciiStrToLower(
        absl::StripPrefix(v1::HandleKind_Name(handles.kind()), "HANDLE_KIND_"));
    rows.push_back({absl::StrCat(kind, "_handles"), handles.handles()});
  }
  return rows;
}

std::vector<Row> RowsOf(const v1::MemoryTotals& totals) {
  std::vector<Row> rows = {{"host_bytes", totals.host_bytes()}};
  for (const v1::MemoryTotals::Device& device : totals.devices()) {
    rows.push_back({absl::StrCat("device_", device.device(), "_reserved_bytes"),
                    device.reserved_bytes()});
    rows.push_back({absl::StrCat("device_", device.device(), "_orphaned_bytes"),
                    UsedOnly(device.orphaned_bytes())});
  }
  return rows;
}

void WriteRows(const std::vector<Row>& rows, JsonWriter* json) {
  for (const Row& row : rows) {
    json->BeginObject(row.name)
        .Member("used", row.usage.used())
        .Member("limit", row.usage.limit())
        .EndObject();
  }
}

void PrintRows(const std::string& whose, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const bool bytes = absl::EndsWith(row.name, "_bytes");
    const auto text = [bytes](uint64_t amount) {
      return bytes ? HumanBytes(amount) : absl::StrCat(amount);
    };
    const std::string name = absl::StrReplaceAll(
        absl::StripSuffix(row.name, "_bytes"), {{"_", " "}});
    const uint64_t limit = row.usage.limit();
    std::printf("%-8s %-24s %12s %12s\n", whose.c_str(), name.c_str(),
                text(row.usage.used()).c_str(),
                limit == 0 ? "-" : text(limit).c_str());
  }
}

// Why a session stands still, if it does.
void WriteWaits(const v1::SessionUsage& usage, JsonWriter* json) {
  json->BeginArray("semaphore_waits");
  for (const v1::SemaphoreWait& wait : usage.waits()) {
    json->BeginObject()
        .Member("stream", wait.stream())
        .Member("semaphore", wait.semaphore())
        .Member("value", wait.value())
        .EndObject();
  }
  json->EndArray();
}

// Seconds of one device.
double GpuSeconds(const v1::DeviceTime& time) {
  return static_cast<double>(time.time().seconds()) +
         time.time().nanos() * 1e-9;
}

void WriteExecution(const v1::SessionUsage& usage, JsonWriter* json) {
  json->Member("launches", usage.launches()).BeginArray("gpu_time");
  for (const v1::DeviceTime& time : usage.gpu_time()) {
    json->BeginObject()
        .Member("device", time.device())
        .Member("seconds", GpuSeconds(time))
        .EndObject();
  }
  json->EndArray();
}

void PrintExecution(const std::string& whose, const v1::SessionUsage& usage) {
  const auto print = [&](const std::string& name, const std::string& used) {
    std::printf("%-8s %-24s %12s %12s\n", whose.c_str(), name.c_str(),
                used.c_str(), "-");
  };
  print("launches", absl::StrCat(usage.launches()));
  for (const v1::DeviceTime& time : usage.gpu_time()) {
    print(absl::StrCat("device ", time.device(), " GPU time"),
          absl::StrFormat("%.3f s", GpuSeconds(time)));
  }
}

void PrintWaits(const std::string& whose, const v1::SessionUsage& usage) {
  for (const v1::SemaphoreWait& wait : usage.waits()) {
    const bool event =
        Handle::Unpack(wait.semaphore()).kind == HandleKind::kEvent;
    std::printf(event ? "%-8s stream 0x%016llx waits until event 0x%016llx is "
                        "at its recording %llu\n"
                      : "%-8s stream 0x%016llx waits until semaphore "
                        "0x%016llx is %llu\n",
                whose.c_str(), static_cast<unsigned long long>(wait.stream()),
                static_cast<unsigned long long>(wait.semaphore()),
                static_cast<unsigned long long>(wait.value()));
  }
}

}  // namespace

void WriteUsage(const v1::SessionUsage& usage, JsonWriter* json) {
  WriteRows(RowsOf(usage), json);
  WriteExecution(usage, json);
  WriteWaits(usage, json);
}

void WriteTotals(const v1::MemoryTotals& totals, JsonWriter* json) {
  WriteRows(RowsOf(totals), json);
}

void PrintUsage(const v1::ListSessionsResponse& sessions) {
  PrintTitle(absl::StrFormat("%-8s %-24s %12s %12s", "SESSION", "WHAT", "USED",
                             "LIMIT"));
  for (const v1::SessionInfo& session : sessions.sessions()) {
    PrintRows(session.session_id(), RowsOf(session.usage()));
    PrintExecution(session.session_id(), session.usage());
    PrintWaits(session.session_id(), session.usage());
  }
  PrintRows("all", RowsOf(sessions.totals()));
}

}  // namespace holdfast::cli
