// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_DAEMON_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_DAEMON_METRICS_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/devices.pb.h"
#include "server/compile/disk_cache.h"
#include "server/telemetry/metric.h"
#include "server/telemetry/metric_sources.h"

namespace holdfast {

// Collects the daemon's metrics from its parts on request; nothing runs in
// between. Labels have few values: sessions, clients and files are never
// labels. The files device_metrics, tenant_metrics, session_metrics,
// call_metrics and process_metrics collect their parts; this class collects the
// daemon's memory, commands, executors, compilers, cache and connections.
// Thread-safe.
class DaemonMetrics {
 public:
  // `sources` and its parts must outlive this object.
  explicit DaemonMetrics(const MetricSources& sources) : sources_(sources) {}

  // Returns the present metrics. Requests its session's usage from each
  // executor, and blocks for up to 200 ms for an executor that does not answer.
  MetricFamilies Collect();

 private:
  // The time for which figures of the disk cache are reused, so that not every
  // scrape reads the cache's directory.
  static constexpr absl::Duration kDiskCacheAge = absl::Minutes(1);

  // Returns the devices with health and telemetry, without waiting. Before the
  // first executor is ready there are no devices and no samples.
  v1::ListDevicesResponse ListDevices();
  void CollectMemory(MetricFamilies* families);
  void CollectExecution(MetricFamilies* families);
  void CollectExecutors(MetricFamilies* families);
  void CollectCompiler(MetricFamilies* families);
  void CollectCache(MetricFamilies* families);
  void CollectConnections(MetricFamilies* families);
  DiskCache::Statistics DiskCacheStatistics();

  const MetricSources& sources_;
  absl::Mutex mutex_;
  absl::Time disk_cache_read_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  DiskCache::Statistics disk_cache_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_DAEMON_METRICS_H_
