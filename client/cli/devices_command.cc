// SPDX-License-Identifier: Apache-2.0
#include "client/cli/devices_command.h"

#include <algorithm>
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

// As CUDA_VISIBLE_DEVICES and nvidia-smi have it.
std::string UuidText(const v1::Device& device) {
  const std::string hex = absl::BytesToHexString(device.uuid());
  if (hex.size() != 32) return hex;
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

void WriteDevice(const v1::Device& device, JsonWriter* json) {
  json->BeginObject()
      .Member("ordinal", device.ordinal())
      .Member("name", device.name())
      .Member("uuid", UuidText(device))
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
  const std::string free = device.has_free_memory()
                               ? HumanBytes(device.free_memory()) + " free"
                               : "";
  std::printf("%-3u %-32s compute %u.%u   %10s   %15s   %s\n    %s\n",
              device.ordinal(), device.name().c_str(),
              device.compute_capability_major(),
              device.compute_capability_minor(),
              HumanBytes(device.total_memory()).c_str(), free.c_str(),
              device.pci_bus_id().c_str(), UuidText(device).c_str());
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
  PrintPeers(list);
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
