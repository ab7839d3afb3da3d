// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_

#include "server/telemetry/metric.h"

namespace holdfast {

// Appends the metrics of this process, with the names of Prometheus' client
// libraries: processor time, memory, descriptors, start time and threads.
void CollectProcessMetrics(MetricFamilies* families);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_
