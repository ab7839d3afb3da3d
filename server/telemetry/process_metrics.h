// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_

#include "server/telemetry/metric.h"

namespace holdfast {

// Appends what Prometheus' client libraries tell of their own process, under
// the same names: processor time, memory, descriptors, start time, threads.
void CollectProcessMetrics(MetricFamilies* families);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_PROCESS_METRICS_H_
