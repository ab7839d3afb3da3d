// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_

#include "server/telemetry/metric.h"
#include "server/telemetry/metric_sources.h"

namespace holdfast {

// Appends the sums over all sessions: sessions by state, memory, handles,
// commands, shared resources. Asks every executor for its session's usage.
void CollectSessionMetrics(const MetricSources& sources,
                           MetricFamilies* families);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_
