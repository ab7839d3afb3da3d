// SPDX-License-Identifier: Apache-2.0
#include "server/health/nvml_telemetry.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Processes of one device that are listed.
constexpr unsigned kMaxProcesses = 256;

constexpr uint64_t kUnknownMemory = ~uint64_t{0};

}  // namespace

std::string BytesOfUuid(const std::string& text) {
  if (!absl::StartsWith(text, "GPU-")) return "";
  const std::string hex =
      absl::StrReplaceAll(absl::string_view(text).substr(4), {{"-", ""}});
  const bool valid =
      hex.size() == 32 && std::all_of(hex.begin(), hex.end(), [](char c) {
        return std::isxdigit(static_cast<unsigned char>(c)) != 0;
      });
  return valid ? absl::HexStringToBytes(hex) : "";
}

absl::StatusOr<std::unique_ptr<NvmlTelemetry>> NvmlTelemetry::Create(
    std::unique_ptr<const nvml::NvmlApi> api) {
  std::unique_ptr<NvmlTelemetry> telemetry(new NvmlTelemetry(std::move(api)));
  HOLDFAST_RETURN_IF_ERROR(telemetry->FindDevices());
  telemetry->RegisterEvents();
  return telemetry;
}

// A device that is lost has no handle any more; the others are told of.
absl::Status NvmlTelemetry::FindDevices() {
  unsigned count = 0;
  HOLDFAST_RETURN_IF_ERROR(nvml::ToStatus(*api_, "nvmlDeviceGetCount_v2",
                                          api_->device_count(&count)));
  for (unsigned i = 0; i < count; ++i) {
    Device device;
    char uuid[nvml::kUuidBytes] = {};
    if (api_->device(i, &device.handle) != nvml::kSuccess ||
        api_->uuid(device.handle, uuid, sizeof uuid) != nvml::kSuccess) {
      continue;
    }
    device.uuid = BytesOfUuid(uuid);
    devices_.push_back(std::move(device));
  }
  return absl::OkStatus();
}

void NvmlTelemetry::RegisterEvents() {
  if (api_->create_event_set == nullptr || api_->register_events == nullptr ||
      api_->wait_event == nullptr ||
      api_->create_event_set(&events_) != nvml::kSuccess) {
    events_ = nullptr;
    return;
  }
  bool any = false;
  for (const Device& device : devices_) {
    any |= api_->register_events(device.handle, nvml::kXidEvents, events_) ==
           nvml::kSuccess;
  }
  if (!any) events_ = nullptr;
}

void NvmlTelemetry::ReadRates(const Device& device,
                              v1::DeviceTelemetry* telemetry) const {
  const nvml::Device handle = device.handle;
  nvml::Memory memory = {};
  if (api_->memory_info != nullptr &&
      api_->memory_info(handle, &memory) == nvml::kSuccess) {
    telemetry->set_memory_used(memory.used);
  }
  nvml::Utilization utilization = {};
  if (api_->utilization != nullptr &&
      api_->utilization(handle, &utilization) == nvml::kSuccess) {
    telemetry->set_gpu_utilization(utilization.gpu);
    telemetry->set_memory_utilization(utilization.memory);
  }
  unsigned value = 0;
  if (api_->temperature != nullptr &&
      api_->temperature(handle, nvml::kGpuTemperature, &value) ==
          nvml::kSuccess) {
    telemetry->set_temperature(value);
  }
  if (api_->clock != nullptr &&
      api_->clock(handle, nvml::kSmClock, &value) == nvml::kSuccess) {
    telemetry->set_sm_clock(value);
  }
  if (api_->clock != nullptr &&
      api_->clock(handle, nvml::kMemoryClock, &value) == nvml::kSuccess) {
    telemetry->set_memory_clock(value);
  }
  if (api_->power != nullptr && api_->power(handle, &value) == nvml::kSuccess) {
    telemetry->set_power(value);
  }
}

void NvmlTelemetry::ReadErrors(const Device& device,
                               v1::DeviceTelemetry* telemetry) const {
  if (api_->ecc_errors == nullptr) return;
  unsigned long long count = 0;
  if (api_->ecc_errors(device.handle, nvml::kCorrected, nvml::kSinceDriverLoad,
                       &count) == nvml::kSuccess) {
    telemetry->set_ecc_corrected(count);
  }
  if (api_->ecc_errors(device.handle, nvml::kUncorrected,
                       nvml::kSinceDriverLoad, &count) == nvml::kSuccess) {
    telemetry->set_ecc_uncorrected(count);
  }
}

void NvmlTelemetry::ReadProcesses(const Device& device,
                                  v1::DeviceTelemetry* telemetry) const {
  if (api_->processes == nullptr) return;
  std::vector<nvml::ProcessInfo> processes(kMaxProcesses);
  unsigned count = kMaxProcesses;
  if (api_->processes(device.handle, &count, processes.data()) !=
      nvml::kSuccess) {
    return;
  }
  for (unsigned i = 0; i < std::min(count, kMaxProcesses); ++i) {
    v1::DeviceProcess& process = *telemetry->add_processes();
    process.set_pid(processes[i].pid);
    if (processes[i].used_memory != kUnknownMemory) {
      process.set_memory(processes[i].used_memory);
    }
  }
}

v1::ListDevicesResponse NvmlTelemetry::Read() {
  v1::ListDevicesResponse response;
  for (const Device& device : devices_) {
    v1::Device& message = *response.add_devices();
    message.set_uuid(device.uuid);
    v1::DeviceTelemetry& telemetry = *message.mutable_telemetry();
    telemetry = device.seen;
    ReadRates(device, &telemetry);
    ReadErrors(device, &telemetry);
    ReadProcesses(device, &telemetry);
  }
  return response;
}

void NvmlTelemetry::AwaitEvent(absl::Duration limit) {
  if (events_ == nullptr) return absl::SleepFor(limit);
  nvml::EventData event = {};
  const nvml::Return result = api_->wait_event(
      events_, &event, static_cast<unsigned>(absl::ToInt64Milliseconds(limit)));
  if (result != nvml::kSuccess) {
    // Anything but a time-out comes at once, and would come again.
    if (result != nvml::kTimeout) absl::SleepFor(limit);
    return;
  }
  if (event.type != nvml::kXidEvents) return;
  for (Device& device : devices_) {
    if (device.handle != event.device) continue;
    device.seen.set_last_xid(static_cast<uint32_t>(event.data));
    device.seen.mutable_last_xid_time()->set_seconds(
        absl::ToUnixSeconds(absl::Now()));
  }
}

}  // namespace holdfast
