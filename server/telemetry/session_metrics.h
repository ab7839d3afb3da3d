// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_

#include "server/telemetry/metric.h"
#include "server/telemetry/metric_sources.h"

namespace holdfast {

// Appends the sums over all sessions: sessions by state, memory, handles,
// commands, shared resources. Requests its session's usage from each executor,
// and blocks for up to 200 ms for an executor that does not answer.
void CollectSessionMetrics(const MetricSources& sources,
                           MetricFamilies* families);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_SESSION_METRICS_H_
