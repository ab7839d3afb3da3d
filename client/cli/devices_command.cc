// SPDX-License-Identifier: Apache-2.0
#include "client/cli/devices_command.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "client/cli/json_writer.h"
#include "client/cpp/daemon.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

const char* KindName(const v1::Driver& driver) {
  return driver.kind() == v1::Driver::KIND_SOFTWARE ? "software" : "cuda";
}

void WriteDevice(const v1::Device& device, JsonWriter* json) {
  json->BeginObject()
      .Member("ordinal", device.ordinal())
      .Member("name", device.name())
      .Member("uuid", absl::BytesToHexString(device.uuid()))
      .Member("pci_bus_id", device.pci_bus_id())
      .Member("compute_capability",
              absl::StrCat(device.compute_capability_major(), ".",
                           device.compute_capability_minor()))
      .Member("total_memory", device.total_memory())
      .Member("least_stream_priority", device.least_stream_priority())
      .Member("greatest_stream_priority", device.greatest_stream_priority());
  if (!device.attributes().empty()) {
    json->BeginObject("attributes");
    for (const auto& [name, value] : std::map<std::string, int64_t>(
             device.attributes().begin(), device.attributes().end())) {
      json->Member(name, value);
    }
    json->EndObject();
  }
  json->EndObject();
}

void WriteDriver(const v1::Driver& driver, JsonWriter* json) {
  json->BeginObject("driver")
      .Member("kind", KindName(driver))
      .Member("version", driver.version())
      .Member("path", driver.path())
      .EndObject();
}

void PrintDevice(const v1::Device& device) {
  std::printf("%-3u %-32s compute %u.%u   %10s   %s\n", device.ordinal(),
              device.name().c_str(), device.compute_capability_major(),
              device.compute_capability_minor(),
              HumanBytes(device.total_memory()).c_str(),
              device.pci_bus_id().c_str());
}

void PrintDriver(const v1::Driver& driver) {
  std::printf("driver: %s %d.%d (%s)\n", KindName(driver),
              driver.version() / 1000, driver.version() % 1000 / 10,
              driver.path().c_str());
}

absl::Status ListDevices(Daemon& daemon, bool as_json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon.Devices());
  if (as_json) {
    JsonWriter json;
    json.BeginObject().BeginArray("devices");
    for (const v1::Device& device : list.devices()) WriteDevice(device, &json);
    json.EndArray();
    WriteDriver(list.driver(), &json);
    std::puts(json.EndObject().text().c_str());
    return absl::OkStatus();
  }
  for (const v1::Device& device : list.devices()) PrintDevice(device);
  PrintDriver(list.driver());
  return absl::OkStatus();
}

absl::Status DescribeDevice(Daemon& daemon, uint32_t ordinal, bool as_json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto reply, daemon.DescribeDevice(ordinal));
  if (as_json) {
    JsonWriter json;
    WriteDevice(reply.device(), &json);
    std::puts(json.text().c_str());
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
  CLI::App* command = AddCommand(
      app, options, "devices", "List the devices that the daemon serves",
      [options, ordinal]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(auto daemon,
                                  Daemon::Connect(options->address));
        return ordinal->has_value()
                   ? DescribeDevice(*daemon, **ordinal, options->json)
                   : ListDevices(*daemon, options->json);
      },
      status);
  command->add_option("ORDINAL", *ordinal,
                      "Show this one, with every CUdevice_attribute");
}

}  // namespace holdfast::cli
