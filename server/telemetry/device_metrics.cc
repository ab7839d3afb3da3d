// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/device_metrics.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/uuid_text.h"
#include "server/telemetry/metric_values.h"

namespace holdfast {
namespace {

void AddInfo(MetricFamily& family, const v1::Driver& driver,
             const v1::Device& device) {
  family.Add(
      1, {{"device", absl::StrCat(device.ordinal())},
          {"name", device.name()},
          {"uuid", UuidText(device.uuid())},
          {"pci_bus_id", device.pci_bus_id()},
          {"compute_capability",
           absl::StrCat(device.compute_capability_major(), ".",
                        device.compute_capability_minor())},
          {"driver", Label(v1::Driver::Kind_Name(driver.kind()), "KIND_")}});
}

void CollectProbes(const v1::ListDevicesResponse& list,
                   MetricFamilies* families) {
  MetricFamily& probes = families->AddCounter("holdfast_device_probes_total",
                                              "Probes of devices, by outcome.");
  for (const v1::Device& device : list.devices()) {
    const v1::DeviceHealth& health = device.health();
    const std::string ordinal = absl::StrCat(device.ordinal());
    probes.Add(Number(health.probes() - health.failed_probes()),
               {{"device", ordinal}, {"outcome", "passed"}});
    probes.Add(Number(health.failed_probes()),
               {{"device", ordinal}, {"outcome", "failed"}});
  }
  MetricFamily& took = families->AddGauge(
      "holdfast_device_last_probe_duration_seconds",
      "How long the last probe took, from the start of its process; 0: there "
      "was none yet.");
  for (const v1::Device& device : list.devices()) {
    took.Add(Seconds(device.health().last_probe_took()),
             DeviceLabel(device.ordinal()));
  }
  MetricFamily& when =
      families->AddGauge("holdfast_device_last_probe_timestamp_seconds",
                         "When the last probe ended; 0: there was none yet.");
  for (const v1::Device& device : list.devices()) {
    when.Add(Seconds(device.health().last_probe()),
             DeviceLabel(device.ordinal()));
  }
}

void CollectHealth(const v1::ListDevicesResponse& list,
                   MetricFamilies* families) {
  MetricFamily& states = families->AddGauge(
      "holdfast_device_health", "1 for the state of each device, else 0.");
  for (const v1::Device& device : list.devices()) {
    for (int state = v1::DeviceHealth::STATE_READY;
         state < v1::DeviceHealth::State_ARRAYSIZE; ++state) {
      states.Add(
          device.health().state() == state ? 1 : 0,
          {{"device", absl::StrCat(device.ordinal())},
           {"state", Label(v1::DeviceHealth::State_Name(state), "STATE_")}});
    }
  }
  MetricFamily& faults = families->AddCounter(
      "holdfast_device_faults_total",
      "Executors that died unasked while their session could use the device.");
  for (const v1::Device& device : list.devices()) {
    faults.Add(Number(device.health().faults()), DeviceLabel(device.ordinal()));
  }
  CollectProbes(list, families);
}

// One figure of NVML's, of the devices that tell it.
struct TelemetryFigure {
  const char* name;
  const char* help;
  // Nullopt: the device does not tell it.
  std::optional<double> (*get)(const v1::DeviceTelemetry&);
};

constexpr TelemetryFigure kTelemetryGauges[] = {
    {"holdfast_device_memory_used_bytes",
     "Memory that all processes use on the device, as NVML reports it.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_memory_used()) return std::nullopt;
       return Number(t.memory_used());
     }},
    {"holdfast_device_utilization_ratio",
     "Share of NVML's last sample period in which a kernel ran.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_gpu_utilization()) return std::nullopt;
       return t.gpu_utilization() / 100.0;
     }},
    {"holdfast_device_temperature_celsius", "Temperature of the device.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_temperature()) return std::nullopt;
       return t.temperature();
     }},
    {"holdfast_device_power_watts", "Power that the device draws.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_power()) return std::nullopt;
       return t.power() / 1000.0;
     }},
    {"holdfast_device_sm_clock_hertz", "Clock of the multiprocessors.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_sm_clock()) return std::nullopt;
       return t.sm_clock() * 1e6;
     }},
    {"holdfast_device_last_xid",
     "Number of the last Xid error that the driver reported.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_last_xid()) return std::nullopt;
       return t.last_xid();
     }},
};

void CollectTelemetry(const v1::ListDevicesResponse& list,
                      MetricFamilies* families) {
  for (const TelemetryFigure& figure : kTelemetryGauges) {
    MetricFamily& family = families->AddGauge(figure.name, figure.help);
    for (const v1::Device& device : list.devices()) {
      const auto value = figure.get(device.telemetry());
      if (value.has_value()) family.Add(*value, DeviceLabel(device.ordinal()));
    }
  }
  MetricFamily& errors = families->AddCounter(
      "holdfast_device_ecc_errors_total",
      "Errors of the device's memory since its driver was loaded.");
  for (const v1::Device& device : list.devices()) {
    const v1::DeviceTelemetry& telemetry = device.telemetry();
    const std::string ordinal = absl::StrCat(device.ordinal());
    if (telemetry.has_ecc_corrected()) {
      errors.Add(Number(telemetry.ecc_corrected()),
                 {{"device", ordinal}, {"kind", "corrected"}});
    }
    if (telemetry.has_ecc_uncorrected()) {
      errors.Add(Number(telemetry.ecc_uncorrected()),
                 {{"device", ordinal}, {"kind", "uncorrected"}});
    }
  }
}

}  // namespace

void CollectDeviceMetrics(const v1::ListDevicesResponse& list,
                          MetricFamilies* families) {
  MetricFamily& info = families->AddGauge(
      "holdfast_device_info", "The devices that are served, in labels.");
  for (const v1::Device& device : list.devices()) {
    AddInfo(info, list.driver(), device);
  }
  MetricFamily& total = families->AddGauge("holdfast_device_memory_bytes",
                                           "Memory that the device has.");
  for (const v1::Device& device : list.devices()) {
    total.Add(Number(device.total_memory()), DeviceLabel(device.ordinal()));
  }
  MetricFamily& free =
      families->AddGauge("holdfast_device_memory_free_bytes",
                         "Memory that is free, as far as the daemon knows.");
  for (const v1::Device& device : list.devices()) {
    if (!device.has_free_memory()) continue;
    free.Add(Number(device.free_memory()), DeviceLabel(device.ordinal()));
  }
  CollectHealth(list, families);
  CollectTelemetry(list, families);
}

void AddGpuTimes(const v1::ListDevicesResponse& list,
                 const ExecutionCounts& counts,
                 const MetricFamily::Labels& labels, MetricFamily& family) {
  for (const v1::Device& device : list.devices()) {
    if (device.ordinal() >= counts.gpu_times.size()) continue;
    MetricFamily::Labels all = labels;
    all.emplace_back("device", absl::StrCat(device.ordinal()));
    family.Add(Number(counts.gpu_times[device.ordinal()]) * 1e-9, all);
  }
}

}  // namespace holdfast
