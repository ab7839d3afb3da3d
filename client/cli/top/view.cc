// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/color.h"
#include "client/cli/command.h"
#include "client/cli/json_writer.h"
#include "client/cli/top/columns.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

constexpr size_t kBarCells = 20;

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

// Side by side, without those that do not fit; the first always stands.
std::string Joined(const std::vector<std::string>& parts, size_t room) {
  std::string line;
  for (const std::string& part : parts) {
    if (line.empty()) {
      line = part;
    } else if (room == 0 || line.size() + 3 + part.size() <= room) {
      absl::StrAppend(&line, "   ", part);
    }
  }
  return line;
}

std::string Heading(const TopSnapshot& snapshot, const CopyRates* rates,
                    size_t room) {
  uint64_t faults = 0;
  for (const auto& session : snapshot.sessions.sessions()) {
    faults += session.faults();
  }
  const v1::QuotaUsage& host = snapshot.sessions.totals().host_bytes();
  return Joined(
      {absl::StrCat("sessions ", snapshot.info.sessions(), " of ",
                    snapshot.info.max_sessions(), ", ",
                    snapshot.sessions.sessions_size(), " shown"),
       absl::StrCat("copies ", rates == nullptr ? "-" : Rate(rates->all)),
       absl::StrCat("host memory ", HumanBytes(host.used()), " of ",
                    host.limit() == 0 ? "any" : HumanBytes(host.limit())),
       absl::StrCat("faults ", faults)},
      room);
}

using Cells = std::vector<Cell>;

// A number that is bad when it is not 0.
Cell Alarming(uint64_t number) {
  return {absl::StrCat(number), number == 0 ? Color::kNone : Color::kRed};
}

const std::vector<Column>& DeviceColumns() {
  static const auto* const columns = new std::vector<Column>{
      {"DEV", 3, true},       {"NAME", 24, false, 1}, {"MEMORY", 22, false, 6},
      {"USED", 10, true},     {"TOTAL", 10, true, 3}, {"SESSIONS", 10, true, 4},
      {" HEALTH", 12, false}, {"GPU", 5, true, 2},    {"TEMP", 5, true, 7},
      {"POWER", 6, true, 8},
  };
  return *columns;
}

const std::vector<Column>& SessionColumns() {
  static const auto* const columns = new std::vector<Column>{
      {"SESSION", 7},           {"STATE", 10, false, 3},
      {"TENANT", 10, false, 8}, {"DEVICE", 10, true},
      {"HOST", 10, true, 7},    {"COPIES", 12, true, 4},
      {"GPU", 5, true, 1},      {"GPU TIME", 10, true, 9},
      {"LAUNCHES", 9, true, 6}, {"QUEUED", 6, true, 10},
      {"FAULTS", 6, true, 5},   {"AGE", 8, true, 2},
      {" CLIENT", 15},
  };
  return *columns;
}

template <typename Value>
std::string Known(bool has, Value value, const char* unit) {
  return has ? absl::StrCat(value, unit) : std::string("-");
}

Cells DeviceCells(const v1::Device& device, uint64_t reserved) {
  const uint64_t free =
      device.has_free_memory() ? device.free_memory() : device.total_memory();
  const uint64_t used =
      device.total_memory() - std::min(device.total_memory(), free);
  const v1::DeviceTelemetry& telemetry = device.telemetry();
  return {
      absl::StrCat(device.ordinal()),
      ToPrintable(device.name()),
      Bar(used, device.total_memory()),
      HumanBytes(used),
      HumanBytes(device.total_memory()),
      HumanBytes(reserved),
      {absl::StrCat(" ", HealthName(device)), ColorOfState(HealthName(device))},
      Known(telemetry.has_gpu_utilization(), telemetry.gpu_utilization(), "%"),
      Known(telemetry.has_temperature(), telemetry.temperature(), "C"),
      Known(telemetry.has_power(), telemetry.power() / 1000, "W")};
}

// The session's value, or null where it has none yet.
const double* Find(const std::map<std::string, double>& values,
                   const v1::SessionInfo& session) {
  const auto found = values.find(session.session_id());
  return found == values.end() ? nullptr : &found->second;
}

std::string ClientText(const v1::SessionInfo& session) {
  const std::string client = ToPrintable(
      absl::StrCat(session.client().program(), " ", session.client().pid()));
  return session.name().empty()
             ? client
             : absl::StrCat(ToPrintable(session.name()), " (", client, ")");
}

Cells SessionCells(const TopSnapshot& snapshot, const CopyRates* rates,
                   const v1::SessionInfo& session) {
  const v1::SessionUsage& usage = session.usage();
  const double* const copies =
      rates == nullptr ? nullptr : Find(rates->by_session, session);
  const double* const gpu =
      rates == nullptr ? nullptr : Find(rates->gpu_share, session);
  return {ToPrintable(session.session_id()),
          {StateName(session), ColorOfState(StateName(session))},
          ToPrintable(session.tenant()),
          HumanBytes(usage.device_bytes().used()),
          HumanBytes(HostBytes(usage)),
          copies == nullptr ? "-" : Rate(*copies),
          gpu == nullptr ? "-" : absl::StrFormat("%.0f%%", *gpu * 100),
          absl::StrFormat("%.1fs", GpuSeconds(usage)),
          absl::StrCat(usage.launches()),
          absl::StrCat(usage.outstanding_commands().used()),
          Alarming(session.faults()),
          Age(snapshot.time - ToTime(session.opened())),
          absl::StrCat(" ", ClientText(session))};
}

double OrZero(const double* value) { return value == nullptr ? 0 : *value; }

// The number that a session is sorted by.
double SortValue(const SortOrder& order, const CopyRates* rates,
                 const v1::SessionInfo& session) {
  const v1::SessionUsage& usage = session.usage();
  switch (order.key) {
    case 'g':
      return rates == nullptr ? 0 : OrZero(Find(rates->gpu_share, session));
    case 'c':
      return rates == nullptr ? 0 : OrZero(Find(rates->by_session, session));
    case 't':
      return GpuSeconds(usage);
    case 'l':
      return static_cast<double>(usage.launches());
    case 'f':
      return static_cast<double>(session.faults());
    case 'a':
      return -absl::ToDoubleSeconds(ToTime(session.opened()) -
                                    absl::UnixEpoch());
    default:
      return static_cast<double>(usage.device_bytes().used());
  }
}

// The largest first; among equals the oldest.
std::vector<const v1::SessionInfo*> Sorted(const TopSnapshot& snapshot,
                                           const CopyRates* rates,
                                           const SortOrder& order) {
  std::vector<const v1::SessionInfo*> sessions;
  for (const auto& session : snapshot.sessions.sessions()) {
    sessions.push_back(&session);
  }
  std::stable_sort(
      sessions.begin(), sessions.end(), [&](const auto* a, const auto* b) {
        return SortValue(order, rates, *a) > SortValue(order, rates, *b);
      });
  return sessions;
}

// Whether a line of `room` characters shows the column `title` of sessions.
bool IsShown(const char* title, size_t room) {
  const std::vector<bool> shown = Shown(SessionColumns(), room);
  for (size_t i = 0; i < shown.size(); ++i) {
    if (absl::string_view(SessionColumns()[i].title) == title) return shown[i];
  }
  return false;
}

// "q leaves   sort by   m memory   g gpu ...": the keys of the columns that are
// shown, so that the order can be seen.
std::string KeysLine(size_t room) {
  std::vector<std::string> parts = {"q leaves", "sort by"};
  for (const SortOrder& order : SortOrders()) {
    if (!IsShown(order.title, room)) continue;
    parts.push_back(absl::StrCat(std::string(1, order.key), " ", order.name));
  }
  return Joined(parts, room);
}

// The client, which comes last, has the rest of the line.
std::string SessionLine(const std::vector<bool>& shown, Cells cells) {
  const std::string client = std::move(cells.back().text);
  cells.back().text.clear();
  std::string line = Row(SessionColumns(), shown, cells);
  line.resize(line.size() - SessionColumns().back().width);
  return absl::StrCat(line, client);
}

std::vector<std::string> AllLines(const TopSnapshot& snapshot,
                                  const CopyRates* rates, size_t room,
                                  const SortOrder& order) {
  std::vector<std::string> lines;
  lines.push_back(Joined(
      {absl::StrCat("holdfast ", snapshot.info.version()),
       ToPrintable(snapshot.info.host()), ToPrintable(snapshot.address),
       absl::FormatTime("%H:%M:%S", snapshot.time, absl::LocalTimeZone()),
       absl::StrCat("up ",
                    Age(snapshot.time - ToTime(snapshot.info.started())))},
      room));
  lines.push_back(Heading(snapshot, rates, room));
  lines.emplace_back();
  const std::vector<bool> of_devices = Shown(DeviceColumns(), room);
  lines.push_back(TitleRow(DeviceColumns(), of_devices, nullptr));
  std::map<uint32_t, uint64_t> reserved = Reserved(snapshot);
  for (const v1::Device& device : snapshot.devices.devices()) {
    lines.push_back(Row(DeviceColumns(), of_devices,
                        DeviceCells(device, reserved[device.ordinal()])));
  }
  lines.emplace_back();
  const std::vector<bool> of_sessions = Shown(SessionColumns(), room);
  lines.push_back(TitleRow(SessionColumns(), of_sessions, order.title));
  for (const v1::SessionInfo* session : Sorted(snapshot, rates, order)) {
    lines.push_back(
        SessionLine(of_sessions, SessionCells(snapshot, rates, *session)));
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
    if (const double* copies = Find(rates->by_session, session)) {
      json->Member("copied_bytes_per_second", *copies);
    }
    if (const double* share = Find(rates->gpu_share, session)) {
      json->Member("gpu_share", *share);
    }
  }
  json->EndObject();
}

std::vector<std::string> ViewOfOne(const WatchedDaemon& daemon, ViewSize size,
                                   const ViewStyle& style) {
  if (daemon.status.ok()) {
    return TopView(*daemon.snapshot, daemon.rates_or_null(), size, style);
  }
  std::string line = ToPrintable(daemon.status.message());
  if (!absl::StrContains(line, daemon.address)) {
    line = absl::StrCat(ToPrintable(daemon.address), ": ", line);
  }
  if (size.columns > 0) line = Fit(line, size.columns);
  return {Colored(line, style.colors ? Color::kRed : Color::kNone)};
}

}  // namespace

const std::vector<SortOrder>& SortOrders() {
  static const auto* const orders = new std::vector<SortOrder>{
      {'m', "memory", "DEVICE"},     {'g', "gpu", "GPU"},
      {'t', "time", "GPU TIME"},     {'c', "copies", "COPIES"},
      {'l', "launches", "LAUNCHES"}, {'f', "faults", "FAULTS"},
      {'a', "age", "AGE"},
  };
  return *orders;
}

std::vector<std::string> TopView(const TopSnapshot& snapshot,
                                 const CopyRates* rates, ViewSize size,
                                 const ViewStyle& style) {
  std::vector<std::string> lines =
      AllLines(snapshot, rates, size.columns, style.order);
  if (style.keys && size.rows > 1) --size.rows;
  if (size.rows > 0 && lines.size() > size.rows) {
    const size_t hidden = lines.size() - size.rows + 1;
    lines.resize(size.rows - 1);
    lines.push_back(absl::StrCat("... ", hidden, " more"));
  }
  if (style.keys) {
    lines.resize(std::max(lines.size(), size.rows));
    lines.push_back(KeysLine(size.columns));
  }
  for (std::string& line : lines) {
    if (!style.colors) line = WithoutColors(line);
    if (size.columns > 0) line = Fit(line, size.columns);
    absl::StripTrailingAsciiWhitespace(&line);
  }
  return lines;
}

std::vector<std::string> TopViewOfSeveral(
    const std::vector<WatchedDaemon>& daemons, ViewSize size,
    const ViewStyle& style) {
  ViewStyle part_style = style;
  part_style.keys = false;
  // One row is for the first daemon.
  const bool has_keys = style.keys && size.rows != 1;
  const size_t rows = size.rows > 1 && has_keys ? size.rows - 1 : size.rows;
  // Two rows at least, of which the second can say how many more there are.
  const ViewSize part = {
      .columns = size.columns,
      .rows = rows == 0 ? 0 : std::max<size_t>(2, rows / daemons.size())};
  std::vector<std::string> lines;
  for (const WatchedDaemon& daemon : daemons) {
    std::vector<std::string> view = ViewOfOne(daemon, part, part_style);
    // A blank line between two views, where there is room.
    if (part.rows == 0 || view.size() < part.rows) view.emplace_back();
    std::move(view.begin(), view.end(), std::back_inserter(lines));
  }
  if (rows > 0) lines.resize(has_keys ? rows : std::min(lines.size(), rows));
  if (has_keys) lines.push_back(KeysLine(size.columns));
  return lines;
}

std::string TopJson(const TopSnapshot& snapshot, const CopyRates* rates,
                    const SortOrder& order) {
  JsonWriter json;
  json.BeginObject()
      .Member("address", snapshot.address)
      .Member("host", snapshot.info.host())
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
  for (const v1::SessionInfo* session : Sorted(snapshot, rates, order)) {
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
