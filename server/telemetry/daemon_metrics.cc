// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/daemon_metrics.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/steady_time.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/config/version.h"
#include "server/counters/command_counts.h"
#include "server/telemetry/device_metrics.h"
#include "server/telemetry/metric_values.h"
#include "server/telemetry/process_metrics.h"
#include "server/telemetry/session_metrics.h"
#include "server/telemetry/tenant_metrics.h"

namespace holdfast {

MetricFamilies DaemonMetrics::Collect() {
  MetricFamilies families;
  families.AddGauge("holdfast_build_info", "The daemon's version, in a label.")
      .Add(1, {{"version", server::kVersion}});
  const v1::ListDevicesResponse devices = ListDevices();
  CollectDeviceMetrics(devices, &families);
  AddGpuTimes(devices, sources_.totals.Sum(), {},
              families.AddCounter(
                  "holdfast_gpu_seconds_total",
                  "Time in which sessions had work on the device; sessions "
                  "that share it count each."));
  CollectTenantMetrics(sources_, devices, &families);
  CollectSessionMetrics(sources_, &families);
  CollectMemory(&families);
  CollectExecution(&families);
  CollectExecutors(&families);
  CollectCompiler(&families);
  CollectCache(&families);
  CollectConnections(&families);
  sources_.calls.Collect(&families);
  CollectProcessMetrics(&families);
  return families;
}

v1::ListDevicesResponse DaemonMetrics::ListDevices() {
  v1::ListDevicesResponse list;
  const auto catalogue = sources_.executors.Devices(absl::InfinitePast());
  if (!catalogue.ok()) return list;
  list = (*catalogue)->List(sources_.memory);
  for (v1::Device& device : *list.mutable_devices()) sources_.describe(&device);
  *list.mutable_driver() = (*catalogue)->driver();
  return list;
}

void DaemonMetrics::CollectMemory(MetricFamilies* families) {
  v1::MemoryTotals totals;
  sources_.ledger.Report(&totals);
  MetricFamily& reserved = families->AddGauge(
      "holdfast_device_memory_reserved_bytes",
      "Device memory that the daemon's sessions and collections have taken.");
  for (const v1::MemoryTotals::Device& device : totals.devices()) {
    reserved.Add(Number(device.reserved_bytes().used()),
                 DeviceLabel(device.device()));
  }
  MetricFamily& promised = families->AddGauge(
      "holdfast_device_memory_promised_bytes",
      "Device memory that is reserved for tenants, in use or not.");
  for (const auto& [device, sums] : sources_.ledger.devices()) {
    promised.Add(Number(sums.reserved), DeviceLabel(device));
  }
  families
      ->AddGauge("holdfast_host_memory_reserved_bytes",
                 "Pinned, arena and staging memory of all sessions.")
      .Add(Number(totals.host_bytes().used()));
  families
      ->AddGauge("holdfast_host_memory_limit_bytes",
                 "Pinned, arena and staging memory that all sessions may have "
                 "together; 0: no limit.")
      .Add(Number(totals.host_bytes().limit()));
}

void DaemonMetrics::CollectExecution(MetricFamilies* families) {
  const ExecutionCounts sum = sources_.totals.Sum();
  MetricFamily& commands = families->AddCounter(
      "holdfast_commands_total",
      "Commands by name and outcome when the device was given them: done, or "
      "failed with an error.");
  for (size_t kind = 0; kind < sum.commands.size(); ++kind) {
    const char* const name = CommandName(kind);
    if (name == nullptr) continue;
    const auto& count = sum.commands[kind];
    commands.Add(Number(count.done), {{"command", name}, {"outcome", "done"}});
    commands.Add(Number(count.failed),
                 {{"command", name}, {"outcome", "failed"}});
  }
  MetricFamily& launches = families->AddCounter(
      "holdfast_launches_total",
      "Launches that a device was given: of single kernels, and of graphs.");
  launches.Add(Number(sum.commands[v1::Command::kLaunch].done),
               {{"kind", "kernel"}});
  launches.Add(Number(sum.commands[v1::Command::kLaunchGraph].done),
               {{"kind", "graph"}});
  MetricFamily& bytes =
      families->AddCounter("holdfast_copied_bytes_total",
                           "Bytes that sessions copied, by the path taken.");
  for (size_t path = 1; path < sum.copies.size(); ++path) {
    bytes.Add(Number(sum.copies[path].bytes), {{"path", PathLabel(path)}});
  }
  MetricFamily& copies = families->AddCounter(
      "holdfast_copies_total", "Copies of sessions, by the path taken.");
  for (size_t path = 1; path < sum.copies.size(); ++path) {
    copies.Add(Number(sum.copies[path].copies), {{"path", PathLabel(path)}});
  }
}

void DaemonMetrics::CollectExecutors(MetricFamilies* families) {
  using Pool = supervisor::ExecutorPool::Statistics;
  // The executors that share no MPS server have no label.
  std::vector<std::pair<MetricFamily::Labels, Pool>> pools = {
      {{}, sources_.executors.statistics()}};
  for (const auto& [group, of_group] : sources_.shared_executors.statistics()) {
    pools.push_back({{{"group", group}}, of_group});
  }
  const auto add = [&](MetricFamily& family, double (*get)(const Pool&)) {
    for (const auto& [labels, pool] : pools) family.Add(get(pool), labels);
  };
  add(families->AddGauge("holdfast_executors_waiting",
                         "Executors that are warm and wait for a session, by "
                         "group of tenants that share an MPS server."),
      [](const Pool& pool) { return Number(pool.waiting); });
  add(families->AddGauge("holdfast_executors_can_start",
                         "1, or 0 while executors cannot be started."),
      [](const Pool& pool) { return pool.failing ? 0.0 : 1.0; });
  add(families->AddCounter("holdfast_executors_started_total",
                           "Executors that were started and became ready."),
      [](const Pool& pool) { return Number(pool.started); });
  add(families->AddCounter("holdfast_executor_start_failures_total",
                           "Executors that could not be started, or did not "
                           "become ready."),
      [](const Pool& pool) { return Number(pool.failed); });
  families
      ->AddCounter("holdfast_executors_lost_total",
                   "Executors that died while they had a session: faults of "
                   "kernels, crashes, kills.")
      .Add(Number(sources_.totals.lost()));
  add(families->AddCounter(
          "holdfast_executors_lost_waiting_total",
          "Executors that died while they waited for a session."),
      [](const Pool& pool) { return Number(pool.lost); });
}

void DaemonMetrics::CollectCompiler(MetricFamilies* families) {
  const CompilerPool::Statistics pool = sources_.compilers.statistics();
  families
      ->AddGauge("holdfast_compile_queue_length",
                 "Requests that wait for a compiler.")
      .Add(Number(pool.waiting));
  families
      ->AddGauge("holdfast_compile_queue_limit",
                 "Requests that may wait for a compiler.")
      .Add(Number(pool.max_waiting));
  families
      ->AddCounter("holdfast_compiler_workers_lost_total",
                   "Compiler processes that crashed or exceeded a limit.")
      .Add(Number(pool.workers_lost));
  MetricFamily& compiles = families->AddCounter(
      "holdfast_compiles_total",
      "Compilations and links by compilers, by outcome; the cache's hits are "
      "none.");
  compiles.Add(Number(pool.done), {{"outcome", "done"}});
  compiles.Add(Number(pool.failed), {{"outcome", "failed"}});
  families
      ->AddHistogram("holdfast_compile_duration_seconds",
                     "Time of a compiler on one request, without the queue.")
      .samples.push_back(SampleOf(sources_.compilers.durations()));
}

DiskCache::Statistics DaemonMetrics::DiskCacheStatistics() {
  absl::MutexLock lock(&mutex_);
  if (SteadyNow() - disk_cache_read_ >= kDiskCacheAge) {
    disk_cache_ = sources_.disk_cache.statistics();
    disk_cache_read_ = SteadyNow();
  }
  return disk_cache_;
}

void DaemonMetrics::CollectCache(MetricFamilies* families) {
  const CompileCache::Statistics memory = sources_.cache.statistics();
  const DiskCache::Statistics disk = DiskCacheStatistics();
  const MetricFamily::Labels in_memory = {{"tier", "memory"}};
  const MetricFamily::Labels on_disk = {{"tier", "disk"}};
  const auto add = [&](MetricFamily& family, uint64_t of_memory,
                       uint64_t of_disk) {
    family.Add(Number(of_memory), in_memory);
    family.Add(Number(of_disk), on_disk);
  };
  add(families->AddCounter("holdfast_compile_cache_hits_total",
                           "Compile requests answered from the cache."),
      memory.hits, disk.hits);
  families
      ->AddCounter("holdfast_compile_cache_misses_total",
                   "Compile requests that no tier could answer.")
      .Add(Number(memory.misses));
  add(families->AddCounter("holdfast_compile_cache_evictions_total",
                           "Entries that had to make room."),
      memory.evictions, disk.evictions);
  add(families->AddGauge("holdfast_compile_cache_entries",
                         "Compiled programs in the cache."),
      memory.entries, disk.entries);
  add(families->AddGauge("holdfast_compile_cache_bytes",
                         "Bytes of compiled programs in the cache."),
      memory.bytes, disk.bytes);
  add(families->AddGauge("holdfast_compile_cache_limit_bytes",
                         "Bytes that the cache may hold."),
      sources_.cache.max_bytes(), sources_.disk_cache.max_bytes());
  families
      ->AddCounter("holdfast_compile_cache_damaged_total",
                   "Entries on disk that were found damaged, and removed.")
      .Add(Number(disk.damaged));
  families
      ->AddCounter("holdfast_compile_cache_write_failures_total",
                   "Entries that could not be written to disk.")
      .Add(Number(disk.not_kept));
}

void DaemonMetrics::CollectConnections(MetricFamilies* families) {
  families->AddGauge("holdfast_connections", "Open connections of clients.")
      .Add(Number(sources_.connections()));
  families
      ->AddCounter("holdfast_connections_refused_total",
                   "Connections closed at once: no room, or a client that "
                   "floods.")
      .Add(Number(sources_.refused_connections()));
  families
      ->AddCounter("holdfast_rpc_refusals_total",
                   "Calls with one request that a limit refused.")
      .Add(Number(sources_.calls.refused()));
}

}  // namespace holdfast
