// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_METRIC_SOURCES_H_
#define HOLDFAST_SERVER_TELEMETRY_METRIC_SOURCES_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/counters/execution_totals.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/supervisor/executor_pool.h"
#include "server/supervisor/session_registry.h"
#include "server/supervisor/shared_executors.h"
#include "server/telemetry/call_metrics.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {

// The parts of the supervisor for metrics and the status page.
//
// All parts must outlive the objects that read them. Each part is thread-safe
// with a lock of its own, so the figures of two parts may be from different
// moments.
struct MetricSources {
  const supervisor::SessionRegistry& sessions;
  supervisor::ExecutorPool& executors;
  const supervisor::SharedExecutors& shared_executors;
  const CompilerPool& compilers;
  const CompileCache& cache;
  const DiskCache& disk_cache;
  const MemoryLedger& ledger;
  const DeviceMemory& memory;
  const ExecutionTotals& totals;
  const TenantTable& tenants;
  const CallMetrics& calls;
  // Adds health and telemetry to a device.
  std::function<void(v1::Device*)> describe;
  // Return the number of open connections, and of connections refused since the
  // start.
  std::function<size_t()> connections;
  std::function<uint64_t()> refused_connections;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRIC_SOURCES_H_
