// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/device_choice.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace holdfast::supervisor {
namespace {

constexpr absl::string_view kMostFree = "most-free";

using Ordinals = std::vector<uint32_t>;

bool Contains(const Ordinals& ordinals, uint32_t ordinal) {
  return std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end();
}

absl::Status NoDevice(absl::string_view what,
                      const v1::ListDevicesResponse& devices) {
  const int count = devices.devices_size();
  const bool all = count > 0 && devices.devices(count - 1).ordinal() + 1 ==
                                    static_cast<uint32_t>(count);
  if (!all) {
    const std::string ordinals =
        absl::StrJoin(devices.devices(), ", ",
                      [](std::string* out, const v1::Device& device) {
                        absl::StrAppend(out, device.ordinal());
                      });
    return absl::NotFoundError(absl::StrCat(
        what, " does not exist for this tenant, which may use: ", ordinals));
  }
  return absl::NotFoundError(absl::StrCat(
      what, " does not exist: the daemon serves ", count,
      count == 1 ? " device, number 0"
                 : absl::StrCat(" devices, numbered 0 to ", count - 1)));
}

absl::Status Quarantined(const v1::Device& device) {
  return absl::UnavailableError(absl::StrCat("device ", device.ordinal(),
                                             " is quarantined until a probe "
                                             "of it passes: ",
                                             device.health().reason()));
}

absl::Status Add(uint32_t ordinal, const v1::ListDevicesResponse& devices,
                 Ordinals* chosen) {
  const auto& list = devices.devices();
  const auto device =
      std::find_if(list.begin(), list.end(), [&](const v1::Device& candidate) {
        return candidate.ordinal() == ordinal;
      });
  if (device == list.end()) {
    return NoDevice(absl::StrCat("device ", ordinal), devices);
  }
  if (IsQuarantined(*device)) return Quarantined(*device);
  if (Contains(*chosen, ordinal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", ordinal, " is named twice"));
  }
  chosen->push_back(ordinal);
  return absl::OkStatus();
}

// "GPU-" and "MIG-" say what it is, dashes are for people.
std::string HexOfUuid(absl::string_view text) {
  return absl::AsciiStrToLower(
      absl::StrReplaceAll(text.substr(4), {{"-", ""}}));
}

absl::StatusOr<uint32_t> FindByUuid(const std::string& choice,
                                    const v1::ListDevicesResponse& devices) {
  const std::string hex = HexOfUuid(choice);
  std::optional<uint32_t> found;
  for (const v1::Device& device : devices.devices()) {
    if (!absl::StartsWith(absl::BytesToHexString(device.uuid()), hex)) continue;
    if (found.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the UUIDs of several devices begin with '", choice, "'"));
    }
    found = device.ordinal();
  }
  if (!found.has_value()) return NoDevice(choice, devices);
  return *found;
}

absl::StatusOr<uint32_t> FindMostFree(const Ordinals& chosen,
                                      const v1::ListDevicesResponse& devices) {
  const v1::Device* best = nullptr;
  for (const v1::Device& device : devices.devices()) {
    if (Contains(chosen, device.ordinal()) || IsQuarantined(device)) continue;
    if (best == nullptr || FreeMemory(device) > FreeMemory(*best)) {
      best = &device;
    }
  }
  if (best == nullptr) return NoDevice("one more device", devices);
  return best->ordinal();
}

// Those that work.
absl::StatusOr<Ordinals> All(const v1::ListDevicesResponse& devices) {
  Ordinals usable;
  for (const v1::Device& device : devices.devices()) {
    if (!IsQuarantined(device)) usable.push_back(device.ordinal());
  }
  if (usable.empty() && devices.devices_size() > 0) {
    return Quarantined(devices.devices(0));
  }
  return usable;
}

absl::StatusOr<uint32_t> Find(const std::string& choice, const Ordinals& chosen,
                              const v1::ListDevicesResponse& devices) {
  uint32_t ordinal = 0;
  if (absl::SimpleAtoi(choice, &ordinal)) return ordinal;
  if (choice == kMostFree) return FindMostFree(chosen, devices);
  if (absl::StartsWith(choice, "GPU-") || absl::StartsWith(choice, "MIG-")) {
    return FindByUuid(choice, devices);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", absl::CEscape(choice.substr(0, 64)),
      "' names no device: give an ordinal, a UUID (GPU-..., MIG-...) or ",
      kMostFree));
}

}  // namespace

bool IsQuarantined(const v1::Device& device) {
  return device.health().state() == v1::DeviceHealth::STATE_QUARANTINED;
}

uint64_t FreeMemory(const v1::Device& device) {
  return device.has_free_memory() ? device.free_memory()
                                  : device.total_memory();
}

absl::StatusOr<v1::ListDevicesResponse> DevicesOfTenant(
    const v1::ListDevicesResponse& all, const Ordinals& ordinals) {
  if (ordinals.empty()) return all;
  v1::ListDevicesResponse devices = all;
  devices.clear_devices();
  for (const v1::Device& device : all.devices()) {
    if (Contains(ordinals, device.ordinal())) *devices.add_devices() = device;
  }
  if (devices.devices_size() > 0) return devices;
  return absl::NotFoundError(absl::StrCat("the tenant may use devices ",
                                          absl::StrJoin(ordinals, ", "),
                                          ", and none of them exists"));
}

absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
    const v1::OpenSessionRequest& request,
    const v1::ListDevicesResponse& devices) {
  if (request.devices_size() > 0 && request.device_choices_size() > 0) {
    return absl::InvalidArgumentError(
        "devices and device_choices exclude each other");
  }
  Ordinals chosen;
  for (const uint32_t ordinal : request.devices()) {
    HOLDFAST_RETURN_IF_ERROR(Add(ordinal, devices, &chosen));
  }
  for (const std::string& choice : request.device_choices()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint32_t ordinal,
                              Find(choice, chosen, devices));
    HOLDFAST_RETURN_IF_ERROR(Add(ordinal, devices, &chosen));
  }
  return chosen.empty() ? All(devices) : chosen;
}

}  // namespace holdfast::supervisor
