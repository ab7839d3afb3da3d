// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_DEVICE_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_DEVICE_METRICS_H_

#include "holdfast/v1/devices.pb.h"
#include "server/counters/execution_totals.h"
#include "server/telemetry/metric.h"

namespace holdfast {

// Appends the metrics of each device of the list: its name and memory, health
// and probes, NVML's figures. A device without health or telemetry in the list
// has zeros, or no sample.
void CollectDeviceMetrics(const v1::ListDevicesResponse& list,
                          MetricFamilies* families);

// Adds a sample to `family` for each device of the list: its GPU time in
// `counts`, in seconds. The sample has `labels` and the labels of the device.
void AddGpuTimes(const v1::ListDevicesResponse& list,
                 const ExecutionCounts& counts,
                 const MetricFamily::Labels& labels, MetricFamily& family);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_DEVICE_METRICS_H_
