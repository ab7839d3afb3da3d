// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/command.h"
#include "client/cli/json_writer.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

constexpr size_t kBarCells = 20;

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

std::string Lower(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

std::string StateName(const v1::SessionInfo& session) {
  return Lower(v1::SessionInfo::State_Name(session.state()), "STATE_");
}

std::string HealthName(const v1::Device& device) {
  if (!device.has_health()) return "-";
  return Lower(v1::DeviceHealth::State_Name(device.health().state()), "STATE_");
}

// "3d 04h", "04:05:06"
std::string Age(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  const int64_t days = seconds / 86400;
  const int64_t hours = seconds / 3600 % 24;
  if (days > 0) return absl::StrFormat("%dd %02dh", days, hours);
  return absl::StrFormat("%02d:%02d:%02d", hours, seconds / 60 % 60,
                         seconds % 60);
}

template <typename Timestamp>
absl::Time ToTime(const Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) +
         absl::Nanoseconds(timestamp.nanos());
}

std::string Rate(double bytes) {
  return absl::StrCat(HumanBytes(static_cast<uint64_t>(bytes)), "/s");
}

// "[#####               ]"
std::string Bar(uint64_t part, uint64_t whole) {
  const double share = whole == 0
                           ? 0
                           : std::min(1.0, static_cast<double>(part) /
                                               static_cast<double>(whole));
  const auto cells = static_cast<size_t>(std::lround(share * kBarCells));
  return absl::StrCat("[", std::string(cells, '#'),
                      std::string(kBarCells - cells, ' '), "]");
}

// Device memory that sessions have taken, by ordinal.
std::map<uint32_t, uint64_t> Reserved(const TopSnapshot& snapshot) {
  std::map<uint32_t, uint64_t> reserved;
  for (const auto& device : snapshot.sessions.totals().devices()) {
    reserved[device.device()] = device.reserved_bytes().used();
  }
  return reserved;
}

// Pinned, arena and staging bytes.
uint64_t HostBytes(const v1::SessionUsage& usage) {
  return usage.pinned_bytes().used() + usage.arena_bytes().used() +
         usage.staging_bytes().used();
}

double GpuSeconds(const v1::SessionUsage& usage) {
  double seconds = 0;
  for (const v1::DeviceTime& time : usage.gpu_time()) {
    seconds +=
        static_cast<double>(time.time().seconds()) + time.time().nanos() * 1e-9;
  }
  return seconds;
}

std::string Heading(const TopSnapshot& snapshot, const CopyRates* rates) {
  uint64_t faults = 0;
  for (const auto& session : snapshot.sessions.sessions()) {
    faults += session.faults();
  }
  const v1::QuotaUsage& host = snapshot.sessions.totals().host_bytes();
  return absl::StrCat("sessions ", snapshot.info.sessions(), " of ",
                      snapshot.info.max_sessions(), ", ",
                      snapshot.sessions.sessions_size(), " shown   copies ",
                      rates == nullptr ? "-" : Rate(rates->all),
                      "   host memory ", HumanBytes(host.used()), " of ",
                      host.limit() == 0 ? "any" : HumanBytes(host.limit()),
                      "   faults ", faults);
}

std::string Telemetry(const v1::Device& device) {
  const v1::DeviceTelemetry& telemetry = device.telemetry();
  const auto field = [](bool has, auto value, const char* unit) {
    return has ? absl::StrCat(value, unit) : std::string("-");
  };
  return absl::StrFormat(
      "%5s %5s %6s",
      field(telemetry.has_gpu_utilization(), telemetry.gpu_utilization(), "%"),
      field(telemetry.has_temperature(), telemetry.temperature(), "C"),
      field(telemetry.has_power(), telemetry.power() / 1000, "W"));
}

std::string DeviceLine(const v1::Device& device, uint64_t reserved) {
  const uint64_t free =
      device.has_free_memory() ? device.free_memory() : device.total_memory();
  const uint64_t used =
      device.total_memory() - std::min(device.total_memory(), free);
  return absl::StrFormat(
      "%3d %s %s %10s %10s %10s  %-11s %s", device.ordinal(),
      Fit(ToPrintable(device.name()), 24), Bar(used, device.total_memory()),
      HumanBytes(used), HumanBytes(device.total_memory()), HumanBytes(reserved),
      HealthName(device), Telemetry(device));
}

std::string SessionLine(const TopSnapshot& snapshot, const CopyRates* rates,
                        const v1::SessionInfo& session) {
  std::string rate = "-";
  if (rates != nullptr) {
    const auto found = rates->by_session.find(session.session_id());
    if (found != rates->by_session.end()) rate = Rate(found->second);
  }
  const std::string client = ToPrintable(
      absl::StrCat(session.client().program(), " ", session.client().pid()));
  return absl::StrFormat(
      "%s %s %s %10s %10s %12s %9.1fs %9d %6d %6d %8s  %s",
      Fit(ToPrintable(session.session_id()), 7), Fit(StateName(session), 10),
      Fit(ToPrintable(session.tenant()), 10),
      HumanBytes(session.usage().device_bytes().used()),
      HumanBytes(HostBytes(session.usage())), rate, GpuSeconds(session.usage()),
      session.usage().launches(), session.usage().outstanding_commands().used(),
      session.faults(), Age(snapshot.time - ToTime(session.opened())),
      session.name().empty()
          ? client
          : absl::StrCat(ToPrintable(session.name()), " (", client, ")"));
}

// Those that hold most device memory first, then the oldest.
std::vector<const v1::SessionInfo*> Sorted(const TopSnapshot& snapshot) {
  std::vector<const v1::SessionInfo*> sessions;
  for (const auto& session : snapshot.sessions.sessions()) {
    sessions.push_back(&session);
  }
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const auto* a, const auto* b) {
                     return a->usage().device_bytes().used() >
                            b->usage().device_bytes().used();
                   });
  return sessions;
}

std::vector<std::string> AllLines(const TopSnapshot& snapshot,
                                  const CopyRates* rates) {
  std::vector<std::string> lines;
  lines.push_back(absl::StrCat(
      "holdfast ", snapshot.info.version(), "   ",
      ToPrintable(snapshot.address), "   ",
      absl::FormatTime("%H:%M:%S", snapshot.time, absl::LocalTimeZone()),
      "   up ", Age(snapshot.time - ToTime(snapshot.info.started()))));
  lines.push_back(Heading(snapshot, rates));
  lines.emplace_back();
  lines.push_back(absl::StrFormat(
      "%3s %-24s %-22s %10s %10s %10s  %-11s %5s %5s %6s", "DEV", "NAME",
      "MEMORY", "USED", "TOTAL", "SESSIONS", "HEALTH", "GPU", "TEMP", "POWER"));
  std::map<uint32_t, uint64_t> reserved = Reserved(snapshot);
  for (const v1::Device& device : snapshot.devices.devices()) {
    lines.push_back(DeviceLine(device, reserved[device.ordinal()]));
  }
  lines.emplace_back();
  lines.push_back(absl::StrFormat(
      "%-7s %-10s %-10s %10s %10s %12s %10s %9s %6s %6s %8s  %s", "SESSION",
      "STATE", "TENANT", "DEVICE", "HOST", "COPIES", "GPU TIME", "LAUNCHES",
      "QUEUED", "FAULTS", "AGE", "CLIENT"));
  for (const v1::SessionInfo* session : Sorted(snapshot)) {
    lines.push_back(SessionLine(snapshot, rates, *session));
  }
  return lines;
}

void WriteDevice(const v1::Device& device, uint64_t reserved,
                 JsonWriter* json) {
  json->BeginObject()
      .Member("ordinal", device.ordinal())
      .Member("name", device.name())
      .Member("total_memory", device.total_memory())
      .Member("reserved_memory", reserved);
  if (device.has_free_memory()) {
    json->Member("free_memory", device.free_memory());
  }
  if (device.has_health()) json->Member("health", HealthName(device));
  const v1::DeviceTelemetry& telemetry = device.telemetry();
  if (telemetry.has_gpu_utilization()) {
    json->Member("gpu_utilization", telemetry.gpu_utilization());
  }
  if (telemetry.has_temperature()) {
    json->Member("temperature", telemetry.temperature());
  }
  if (telemetry.has_power()) {
    json->Member("power_watts", telemetry.power() / 1000.0);
  }
  json->EndObject();
}

void WriteSession(const v1::SessionInfo& session, const CopyRates* rates,
                  JsonWriter* json) {
  const v1::SessionUsage& usage = session.usage();
  json->BeginObject()
      .Member("session_id", session.session_id())
      .Member("name", session.name())
      .Member("state", StateName(session))
      .Member("tenant", session.tenant())
      .Member("program", session.client().program())
      .Member("pid", session.client().pid())
      .Member("device_bytes", usage.device_bytes().used())
      .Member("host_bytes", HostBytes(usage))
      .Member("outstanding_commands", usage.outstanding_commands().used())
      .Member("gpu_seconds", GpuSeconds(usage))
      .Member("launches", usage.launches())
      .Member("faults", session.faults());
  if (rates != nullptr) {
    const auto found = rates->by_session.find(session.session_id());
    if (found != rates->by_session.end()) {
      json->Member("copied_bytes_per_second", found->second);
    }
  }
  json->EndObject();
}

}  // namespace

std::string Fit(absl::string_view text, size_t columns) {
  size_t characters = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!BeginsCharacter(text[end])) continue;
    if (characters == columns) break;
    ++characters;
  }
  return absl::StrCat(text.substr(0, end),
                      std::string(columns - characters, ' '));
}

std::vector<std::string> TopView(const TopSnapshot& snapshot,
                                 const CopyRates* rates, ViewSize size) {
  std::vector<std::string> lines = AllLines(snapshot, rates);
  if (size.rows > 0 && lines.size() > size.rows) {
    const size_t hidden = lines.size() - size.rows + 1;
    lines.resize(size.rows - 1);
    lines.push_back(absl::StrCat("... ", hidden, " more"));
  }
  for (std::string& line : lines) {
    if (size.columns > 0) line = Fit(line, size.columns);
    absl::StripTrailingAsciiWhitespace(&line);
  }
  return lines;
}

std::string TopJson(const TopSnapshot& snapshot, const CopyRates* rates) {
  JsonWriter json;
  json.BeginObject()
      .Member("time", absl::FormatTime(snapshot.time, absl::UTCTimeZone()))
      .Member("version", snapshot.info.version())
      .Member("sessions_open", snapshot.info.sessions())
      .Member("max_sessions", snapshot.info.max_sessions())
      .BeginArray("devices");
  std::map<uint32_t, uint64_t> reserved = Reserved(snapshot);
  for (const v1::Device& device : snapshot.devices.devices()) {
    WriteDevice(device, reserved[device.ordinal()], &json);
  }
  json.EndArray().BeginArray("sessions");
  for (const v1::SessionInfo* session : Sorted(snapshot)) {
    WriteSession(*session, rates, &json);
  }
  json.EndArray();
  if (rates != nullptr) {
    json.BeginObject("copied_bytes_per_second");
    for (const auto& [path, rate] : rates->by_path) {
      json.Member(Lower(v1::CopyPath_Name(path), "COPY_PATH_"), rate);
    }
    json.EndObject();
  }
  return json.EndObject().text();
}

}  // namespace holdfast::cli
