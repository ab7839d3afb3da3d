// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_TENANT_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_TENANT_METRICS_H_

#include "holdfast/v1/devices.pb.h"
#include "server/telemetry/metric.h"
#include "server/telemetry/metric_sources.h"

namespace holdfast {

// Appends the metrics with a label for each tenant that the policy names:
// account and quota, GPU time on the devices of the list, launches, copied
// bytes, compile time, faults. The figures of all other tenants are added up as
// "(other)", if a sum makes sense.
void CollectTenantMetrics(const MetricSources& sources,
                          const v1::ListDevicesResponse& list,
                          MetricFamilies* families);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TENANT_METRICS_H_
