// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/status_report.h"

#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "server/config/version.h"

namespace holdfast {
namespace {

using Json = nlohmann::json;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string Lower(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

uint64_t HostBytes(const v1::SessionUsage& usage) {
  return usage.pinned_bytes().used() + usage.arena_bytes().used() +
         usage.staging_bytes().used();
}

double Seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

double GpuSeconds(const v1::SessionUsage& usage) {
  double seconds = 0;
  for (const v1::DeviceTime& time : usage.gpu_time()) {
    seconds += Seconds(time.time());
  }
  return seconds;
}

Json Describe(const v1::SessionInfo& info, absl::Time now) {
  const absl::Time opened = absl::FromUnixSeconds(info.opened().seconds());
  return {
      {"id", info.session_id()},
      {"state", Lower(v1::SessionInfo::State_Name(info.state()), "STATE_")},
      {"tenant", info.tenant()},
      {"name", info.name()},
      {"program", info.client().program()},
      {"pid", info.client().pid()},
      {"devices", info.devices()},
      {"device_bytes", info.usage().device_bytes().used()},
      {"host_bytes", HostBytes(info.usage())},
      {"outstanding_commands", info.usage().outstanding_commands().used()},
      {"gpu_seconds", GpuSeconds(info.usage())},
      {"launches", info.usage().launches()},
      {"faults", info.faults()},
      {"age_seconds", absl::ToDoubleSeconds(now - opened)},
  };
}

void AddTelemetry(const v1::Device& device, Json* json) {
  if (device.has_health()) {
    (*json)["health"] =
        Lower(v1::DeviceHealth::State_Name(device.health().state()), "STATE_");
    (*json)["reason"] = device.health().reason();
    (*json)["faults"] = device.health().faults();
    (*json)["probe_seconds"] = Seconds(device.health().last_probe_took());
  }
  const v1::DeviceTelemetry& telemetry = device.telemetry();
  if (telemetry.has_gpu_utilization()) {
    (*json)["gpu_utilization"] = telemetry.gpu_utilization();
  }
  if (telemetry.has_temperature()) {
    (*json)["temperature"] = telemetry.temperature();
  }
  if (telemetry.has_power()) {
    (*json)["power_watts"] = telemetry.power() / 1000.0;
  }
}

Json Devices(const MetricSources& sources, const v1::MemoryTotals& totals) {
  std::map<uint32_t, uint64_t> reserved;
  for (const auto& device : totals.devices()) {
    reserved[device.device()] = device.reserved_bytes().used();
  }
  Json devices = Json::array();
  const auto catalogue = sources.executors.Devices(absl::InfinitePast());
  if (!catalogue.ok()) return devices;
  const ExecutionCounts counts = sources.totals.Sum();
  v1::ListDevicesResponse list = (*catalogue)->List(sources.memory);
  for (v1::Device& device : *list.mutable_devices()) {
    sources.describe(&device);
    Json described = {{"ordinal", device.ordinal()},
                      {"name", device.name()},
                      {"total_memory", device.total_memory()},
                      {"reserved_memory", reserved[device.ordinal()]}};
    if (device.has_free_memory()) {
      described["free_memory"] = device.free_memory();
    }
    if (device.ordinal() < counts.gpu_times.size()) {
      described["gpu_seconds"] = Seconds(counts.gpu_times[device.ordinal()]);
    }
    AddTelemetry(device, &described);
    devices.push_back(std::move(described));
  }
  return devices;
}

// Counts since the daemon's start. The page subtracts two answers to get rates.
Json Totals(const ExecutionCounts& counts) {
  uint64_t copied = 0;
  for (const auto& path : counts.copies) copied += path.bytes;
  return {{"launches", counts.commands[v1::Command::kLaunch].done},
          {"graph_launches", counts.commands[v1::Command::kLaunchGraph].done},
          {"copied_bytes", copied}};
}

// A second, of the last minute.
Json Rates(const RateWindow::Since& since, const ExecutionCounts& now) {
  const double seconds = absl::ToDoubleSeconds(since.age);
  const auto rate = [&](uint64_t before, uint64_t after) {
    return static_cast<double>(after - before) / seconds;
  };
  ExecutionCounts::Command all_before, all_now;
  for (size_t kind = 0; kind < now.commands.size(); ++kind) {
    all_before.done += since.counts.commands[kind].done;
    all_before.failed += since.counts.commands[kind].failed;
    all_now.done += now.commands[kind].done;
    all_now.failed += now.commands[kind].failed;
  }
  Json copied = Json::object();
  for (size_t path = 1; path < now.copies.size(); ++path) {
    copied[Lower(v1::CopyPath_Name(static_cast<v1::CopyPath>(path)),
                 "COPY_PATH_")] =
        rate(since.counts.copies[path].bytes, now.copies[path].bytes);
  }
  const auto launches = [&](size_t kind) {
    return rate(since.counts.commands[kind].done, now.commands[kind].done);
  };
  return {{"commands", rate(all_before.done, all_now.done)},
          {"failed_commands", rate(all_before.failed, all_now.failed)},
          {"launches", launches(v1::Command::kLaunch)},
          {"graph_launches", launches(v1::Command::kLaunchGraph)},
          {"copied_bytes", std::move(copied)}};
}

size_t WaitingExecutors(const MetricSources& sources) {
  size_t waiting = sources.executors.statistics().waiting;
  for (const auto& [group, pool] : sources.shared_executors.statistics()) {
    waiting += pool.waiting;
  }
  return waiting;
}

void AddSessions(const MetricSources& sources, bool list, Json* status) {
  Json sessions = Json::array();
  std::map<std::string, uint64_t> states;
  for (const auto& session : sources.sessions.List()) {
    const v1::SessionInfo info = session->Info();
    ++states[Lower(v1::SessionInfo::State_Name(info.state()), "STATE_")];
    if (list) sessions.push_back(Describe(info, absl::Now()));
  }
  (*status)["session_states"] = states;
  (*status)["faults"] = sources.totals.lost();
  (*status)["max_sessions"] = sources.sessions.max_sessions();
  if (list) (*status)["sessions"] = std::move(sessions);
}

}  // namespace

std::string StatusReport::Json() {
  const absl::Time now = absl::Now();
  v1::MemoryTotals totals;
  sources_.ledger.Report(&totals);
  const CompilerPool::Statistics compiler = sources_.compilers.statistics();
  const CompileCache::Statistics cache = sources_.cache.statistics();
  const ExecutionCounts counts = sources_.totals.Sum();
  nlohmann::json status = {
      {"host", HostName()},
      {"version", server::kVersion},
      {"uptime_seconds", absl::ToDoubleSeconds(now - started_)},
      {"devices", Devices(sources_, totals)},
      {"host_memory",
       {{"used", totals.host_bytes().used()},
        {"limit", totals.host_bytes().limit()}}},
      {"compiler",
       {{"waiting", compiler.waiting}, {"max_waiting", compiler.max_waiting}}},
      {"cache",
       {{"hits", cache.hits},
        {"misses", cache.misses},
        {"entries", cache.entries},
        {"bytes", cache.bytes}}},
      {"executors", {{"waiting", WaitingExecutors(sources_)}}},
      {"connections", sources_.connections()},
      {"refusals", sources_.calls.refused()},
      {"totals", Totals(counts)},
  };
  AddSessions(sources_, lists_sessions_, &status);
  if (const auto since = rates_.Look(counts, now)) {
    status["rates"] = Rates(*since, counts);
  }
  // Clients' text is UTF-8, as protobuf checks; never throws.
  return status.dump(-1, ' ', /*ensure_ascii=*/false,
                     nlohmann::json::error_handler_t::replace);
}

}  // namespace holdfast
