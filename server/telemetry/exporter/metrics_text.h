// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_METRICS_TEXT_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_METRICS_TEXT_H_

#include <cstddef>
#include <string>

#include "server/telemetry/exporter/exporter.h"

namespace holdfast::exporter {

// Returns the `count` families in Prometheus' text format, version 0.0.4.
std::string MetricsText(const HoldfastFamily* families, size_t count);

}  // namespace holdfast::exporter

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_METRICS_TEXT_H_
