// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_STATUS_REPORT_H_
#define HOLDFAST_SERVER_TELEMETRY_STATUS_REPORT_H_

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/telemetry/metric_sources.h"
#include "server/telemetry/rate_window.h"

namespace holdfast {

// The content of the status page, as JSON, for operators. With
// `lists_sessions`, it names every session and its client; otherwise it has
// only sums. It never contains tokens. Thread-safe.
class StatusReport {
 public:
  StatusReport(const MetricSources& sources, bool lists_sessions)
      : sources_(sources), lists_sessions_(lists_sessions) {}

  // Returns the present content. Requests usage from the executors, and blocks,
  // as DaemonMetrics::Collect does.
  std::string Json();

 private:
  const MetricSources& sources_;
  const bool lists_sessions_;
  const absl::Time started_ = absl::Now();
  RateWindow rates_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_STATUS_REPORT_H_
