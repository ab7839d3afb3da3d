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

// Gathers the daemon's metrics from its parts when they are asked for; nothing
// runs in between. Labels have few values: no session, client or file is one.
// Metrics of devices, tenants, sessions, calls and of the process itself are
// gathered in files of these names; memory of the daemon as a whole, commands,
// executors, compilers, the cache and connections are gathered here.
// Thread-safe.
class DaemonMetrics {
 public:
  // The sources must outlive it.
  explicit DaemonMetrics(const MetricSources& sources) : sources_(sources) {}

  // Asks every executor for its session's account: takes up to 200 ms for one
  // that does not answer.
  MetricFamilies Collect();

 private:
  // Its directory is not read again for every scrape.
  static constexpr absl::Duration kDiskCacheAge = absl::Minutes(1);

  // With health and telemetry. Not waited for: without an executor there are no
  // devices, and so no samples of them.
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
