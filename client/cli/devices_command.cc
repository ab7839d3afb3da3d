// SPDX-License-Identifier: Apache-2.0
#include "client/cli/devices_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/color.h"
#include "client/cli/each_daemon.h"
#include "client/cli/json_writer.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/uuid_text.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::cli {
namespace {

const char* KindName(const v1::Driver& driver) {
  return driver.kind() == v1::Driver::KIND_SOFTWARE ? "software" : "cuda";
}

std::string StateName(const v1::DeviceHealth& health) {
  const std::string name = v1::DeviceHealth::State_Name(health.state());
  return absl::AsciiStrToLower(absl::StripPrefix(name, "STATE_"));
}

absl::Duration LastProbeTook(const v1::DeviceHealth& health) {
  return absl::Seconds(health.last_probe_took().seconds()) +
         absl::Nanoseconds(health.last_probe_took().nanos());
}

void WriteHealth(const v1::DeviceHealth& health, JsonWriter* json) {
  json->BeginObject("health")
      .Member("state", StateName(health))
      .Member("reason", health.reason())
      .Member("since",
              absl::FormatTime(absl::FromUnixSeconds(health.since().seconds()),
                               absl::UTCTimeZone()))
      .Member("last_probe_ms", absl::ToInt64Milliseconds(LastProbeTook(health)))
      .Member("probes", health.probes())
      .Member("failed_probes", health.failed_probes())
      .EndObject();
}

// Empty if the daemon does not tell.
std::string HealthText(const v1::DeviceHealth& health) {
  if (health.state() == v1::DeviceHealth::STATE_UNSPECIFIED) return "";
  const std::string state = StateName(health);
  const Color color = ShowsColors(stdout) ? ColorOfState(state) : Color::kNone;
  return absl::StrCat("   ", Colored(state, color),
                      health.reason().empty() ? "" : ": ",
                      ToPrintable(health.reason()));
}

// Leaves out figures that the device does not report.
void WriteTelemetry(const v1::DeviceTelemetry& telemetry, JsonWriter* json) {
  json->BeginObject("telemetry");
  if (telemetry.has_memory_used())
    json->Member("memory_used", telemetry.memory_used());
  if (telemetry.has_gpu_utilization())
    json->Member("gpu_utilization", telemetry.gpu_utilization());
  if (telemetry.has_memory_utilization())
    json->Member("memory_utilization", telemetry.memory_utilization());
  if (telemetry.has_temperature())
    json->Member("temperature", telemetry.temperature());
  if (telemetry.has_sm_clock()) json->Member("sm_clock", telemetry.sm_clock());
  if (telemetry.has_memory_clock())
    json->Member("memory_clock", telemetry.memory_clock());
  if (telemetry.has_power()) json->Member("power", telemetry.power());
  if (telemetry.has_ecc_corrected())
    json->Member("ecc_corrected", telemetry.ecc_corrected());
  if (telemetry.has_ecc_uncorrected())
    json->Member("ecc_uncorrected", telemetry.ecc_uncorrected());
  if (telemetry.has_last_xid()) json->Member("last_xid", telemetry.last_xid());
  json->BeginArray("processes");
  for (const v1::DeviceProcess& process : telemetry.processes()) {
    json->BeginObject()
        .Member("pid", process.pid())
        .Member("memory", process.memory())
        .Member("session_id", process.session_id())
        .EndObject();
  }
  json->EndArray().EndObject();
}

// "    73 % busy, 55 C, 1980 MHz, 620 W, last Xid 79"; empty: nothing is told.
std::string TelemetryText(const v1::DeviceTelemetry& telemetry) {
  std::vector<std::string> parts;
  if (telemetry.has_gpu_utilization())
    parts.push_back(absl::StrCat(telemetry.gpu_utilization(), " % busy"));
  if (telemetry.has_temperature())
    parts.push_back(absl::StrCat(telemetry.temperature(), " C"));
  if (telemetry.has_sm_clock())
    parts.push_back(absl::StrCat(telemetry.sm_clock(), " MHz"));
  if (telemetry.has_power())
    parts.push_back(absl::StrCat(telemetry.power() / 1000, " W"));
  if (telemetry.ecc_uncorrected() > 0)
    parts.push_back(absl::StrCat(telemetry.ecc_uncorrected(),
                                 " uncorrected memory errors"));
  if (telemetry.has_last_xid())
    parts.push_back(absl::StrCat("last Xid ", telemetry.last_xid()));
  return parts.empty() ? ""
                       : absl::StrCat("\n    ", absl::StrJoin(parts, ", "));
}

void WriteMembers(const v1::Device& device, JsonWriter* json) {
  json->Member("ordinal", device.ordinal())
      .Member("name", device.name())
      .Member("uuid", UuidText(device.uuid()))
      .Member("pci_bus_id", device.pci_bus_id())
      .Member("compute_capability",
              absl::StrCat(device.compute_capability_major(), ".",
                           device.compute_capability_minor()))
      .Member("total_memory", device.total_memory())
      .Member("least_stream_priority", device.least_stream_priority())
      .Member("greatest_stream_priority", device.greatest_stream_priority());
  if (device.has_free_memory()) {
    json->Member("free_memory", device.free_memory());
  }
  json->BeginArray("peers");
  for (const uint32_t peer : device.peers()) {
    json->BeginObject().Member("ordinal", peer).EndObject();
  }
  json->EndArray();
  WriteHealth(device.health(), json);
  if (device.has_telemetry()) WriteTelemetry(device.telemetry(), json);
  if (!device.attributes().empty()) {
    json->BeginObject("attributes");
    for (const auto& [name, value] : std::map<std::string, int64_t>(
             device.attributes().begin(), device.attributes().end())) {
      json->Member(name, value);
    }
    json->EndObject();
  }
}

void WriteDriver(const v1::Driver& driver, JsonWriter* json) {
  json->BeginObject("driver")
      .Member("kind", KindName(driver))
      .Member("version", driver.version())
      .Member("path", driver.path())
      .EndObject();
}

void PrintDevice(const v1::Device& device) {
  const std::string free = device.has_free_memory()
                               ? HumanBytes(device.free_memory()) + " free"
                               : "";
  std::printf("%-3u %-32s compute %u.%u   %10s   %15s   %s\n    %s%s%s\n",
              device.ordinal(), device.name().c_str(),
              device.compute_capability_major(),
              device.compute_capability_minor(),
              HumanBytes(device.total_memory()).c_str(), free.c_str(),
              device.pci_bus_id().c_str(), UuidText(device.uuid()).c_str(),
              HealthText(device.health()).c_str(),
              TelemetryText(device.telemetry()).c_str());
}

// Whose kernels (rows) can be given access to whose memory (columns).
void PrintPeers(const v1::ListDevicesResponse& list) {
  if (list.devices_size() < 2) return;
  std::printf("peers:");
  for (const v1::Device& column : list.devices()) {
    std::printf(" %3u", column.ordinal());
  }
  for (const v1::Device& row : list.devices()) {
    std::printf("\n  %3u ", row.ordinal());
    for (const v1::Device& column : list.devices()) {
      const bool can = std::count(row.peers().begin(), row.peers().end(),
                                  column.ordinal()) > 0;
      std::printf(" %3s", column.ordinal() == row.ordinal() ? "."
                          : can                             ? "yes"
                                                            : "no");
    }
  }
  std::printf("\n");
}

void PrintDriver(const v1::Driver& driver) {
  std::printf("driver: %s %d.%d (%s)\n", KindName(driver),
              driver.version() / 1000, driver.version() % 1000 / 10,
              driver.path().c_str());
}

absl::Status ListDevices(Daemon& daemon, JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon.Devices());
  if (json != nullptr) {
    json->BeginArray("devices");
    for (const v1::Device& device : list.devices()) {
      json->BeginObject();
      WriteMembers(device, json);
      json->EndObject();
    }
    json->EndArray();
    WriteDriver(list.driver(), json);
    return absl::OkStatus();
  }
  for (const v1::Device& device : list.devices()) PrintDevice(device);
  PrintPeers(list);
  PrintDriver(list.driver());
  return absl::OkStatus();
}

absl::Status DescribeDevice(Daemon& daemon, uint32_t ordinal,
                            JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto reply, daemon.DescribeDevice(ordinal));
  if (json != nullptr) {
    WriteMembers(reply.device(), json);
    return absl::OkStatus();
  }
  PrintDevice(reply.device());
  PrintDriver(reply.driver());
  for (const auto& [name, value] :
       std::map<std::string, int64_t>(reply.device().attributes().begin(),
                                      reply.device().attributes().end())) {
    std::printf("  %-56s %lld\n", name.c_str(), static_cast<long long>(value));
  }
  return absl::OkStatus();
}

}  // namespace

void AddDevicesCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  auto ordinal = std::make_shared<std::optional<uint32_t>>();
  CLI::App* command = AddLook(
      app, options, "devices", "List the devices that the daemon serves",
      [ordinal](const std::shared_ptr<Daemon>& daemon, JsonWriter* json) {
        return ordinal->has_value() ? DescribeDevice(*daemon, **ordinal, json)
                                    : ListDevices(*daemon, json);
      },
      status);
  command->add_option(
      "ORDINAL", *ordinal,
      "Show only the device with this ordinal, with every CUdevice_attribute");
}

}  // namespace holdfast::cli
