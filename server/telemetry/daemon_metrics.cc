// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/daemon_metrics.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/telemetry/process_metrics.h"
#include "server/version.h"

namespace holdfast {
namespace {

// A protobuf enumerator as a label: "STATE_ACTIVE" is "active".
std::string Label(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

std::string PathLabel(size_t path) {
  return Label(v1::CopyPath_Name(static_cast<v1::CopyPath>(path)),
               "COPY_PATH_");
}

MetricFamily::Labels OfDevice(uint32_t device) {
  return {{"device", absl::StrCat(device)}};
}

double Number(uint64_t count) { return static_cast<double>(count); }

void Add(MetricFamily& family, const v1::Driver& driver,
         const v1::Device& device) {
  family.Add(
      1, {{"device", absl::StrCat(device.ordinal())},
          {"name", device.name()},
          {"uuid", absl::BytesToHexString(device.uuid())},
          {"pci_bus_id", device.pci_bus_id()},
          {"compute_capability",
           absl::StrCat(device.compute_capability_major(), ".",
                        device.compute_capability_minor())},
          {"driver", Label(v1::Driver::Kind_Name(driver.kind()), "KIND_")}});
}

// The holdings of all sessions, summed.
struct Holdings {
  void Add(const v1::SessionInfo& info) {
    ++states[info.state()];
    const v1::SessionUsage& usage = info.usage();
    bytes["device"] += usage.device_bytes().used();
    bytes["reserved"] += usage.reserved_bytes().used();
    bytes["pinned"] += usage.pinned_bytes().used();
    bytes["arena"] += usage.arena_bytes().used();
    bytes["staging"] += usage.staging_bytes().used();
    bytes["imported"] += usage.imported_bytes();
    outstanding += usage.outstanding_commands().used();
    exports += usage.exports().used();
    imports += usage.imports().used();
    semaphore_waits += static_cast<uint64_t>(usage.waits_size());
    for (const v1::HandleUsage& kind : usage.handles()) {
      handles[kind.kind()] += kind.handles().used();
    }
  }

  std::map<int, uint64_t> states;
  std::map<std::string, uint64_t> bytes = {{"device", 0},  {"reserved", 0},
                                           {"pinned", 0},  {"arena", 0},
                                           {"staging", 0}, {"imported", 0}};
  std::map<int, uint64_t> handles;
  uint64_t outstanding = 0;
  uint64_t exports = 0;
  uint64_t imports = 0;
  uint64_t semaphore_waits = 0;
};

void CollectStates(const Holdings& held, MetricFamilies* families) {
  MetricFamily& sessions =
      families->AddGauge("holdfast_sessions", "Sessions, by state.");
  for (int state = v1::SessionInfo::STATE_ACTIVE;
       state < v1::SessionInfo::State_ARRAYSIZE; ++state) {
    const auto name = v1::SessionInfo::State_Name(state);
    const auto found = held.states.find(state);
    sessions.Add(found == held.states.end() ? 0 : Number(found->second),
                 {{"state", Label(name, "STATE_")}});
  }
}

void CollectHoldings(const Holdings& held, MetricFamilies* families) {
  MetricFamily& bytes = families->AddGauge(
      "holdfast_session_memory_bytes",
      "Memory that all sessions hold, by kind: device as asked for, reserved "
      "as taken from the devices, pinned, arena and staging of the host, "
      "imported from other sessions.");
  for (const auto& [kind, held_bytes] : held.bytes) {
    bytes.Add(Number(held_bytes), {{"kind", kind}});
  }
  MetricFamily& handles = families->AddGauge(
      "holdfast_session_handles", "Handles of all sessions, by kind.");
  for (int kind = v1::HANDLE_KIND_STREAM; kind < v1::HandleKind_ARRAYSIZE;
       ++kind) {
    const auto name = v1::HandleKind_Name(kind);
    const auto found = held.handles.find(kind);
    handles.Add(found == held.handles.end() ? 0 : Number(found->second),
                {{"kind", Label(name, "HANDLE_KIND_")}});
  }
  families
      ->AddGauge("holdfast_commands_outstanding",
                 "Commands that were accepted and not carried out yet.")
      .Add(Number(held.outstanding));
  families
      ->AddGauge("holdfast_exports",
                 "Tokens of shared resources that can be redeemed.")
      .Add(Number(held.exports));
  families
      ->AddGauge("holdfast_imports",
                 "Resources of other sessions that sessions use.")
      .Add(Number(held.imports));
  families
      ->AddGauge("holdfast_semaphore_waits",
                 "Streams that wait for a semaphore, at most 64 a session.")
      .Add(Number(held.semaphore_waits));
}

double Seconds(const google::protobuf::Timestamp& time) {
  return Number(static_cast<uint64_t>(time.seconds())) + time.nanos() * 1e-9;
}

double Seconds(const google::protobuf::Duration& duration) {
  return Number(static_cast<uint64_t>(duration.seconds())) +
         duration.nanos() * 1e-9;
}

void CollectProbes(const v1::ListDevicesResponse& list,
                   MetricFamilies* families) {
  MetricFamily& probes = families->AddCounter("holdfast_device_probes_total",
                                              "Probes of devices, by outcome.");
  for (const v1::Device& device : list.devices()) {
    const v1::DeviceHealth& health = device.health();
    const std::string ordinal = absl::StrCat(device.ordinal());
    probes.Add(Number(health.probes() - health.failed_probes()),
               {{"device", ordinal}, {"outcome", "passed"}});
    probes.Add(Number(health.failed_probes()),
               {{"device", ordinal}, {"outcome", "failed"}});
  }
  MetricFamily& took = families->AddGauge(
      "holdfast_device_last_probe_duration_seconds",
      "How long the last probe took, from the start of its process; 0: there "
      "was none yet.");
  for (const v1::Device& device : list.devices()) {
    took.Add(Seconds(device.health().last_probe_took()),
             OfDevice(device.ordinal()));
  }
  MetricFamily& when =
      families->AddGauge("holdfast_device_last_probe_timestamp_seconds",
                         "When the last probe ended; 0: there was none yet.");
  for (const v1::Device& device : list.devices()) {
    when.Add(Seconds(device.health().last_probe()), OfDevice(device.ordinal()));
  }
}

void CollectHealth(const v1::ListDevicesResponse& list,
                   MetricFamilies* families) {
  MetricFamily& states = families->AddGauge(
      "holdfast_device_health", "1 for the state of each device, else 0.");
  for (const v1::Device& device : list.devices()) {
    for (int state = v1::DeviceHealth::STATE_READY;
         state < v1::DeviceHealth::State_ARRAYSIZE; ++state) {
      states.Add(
          device.health().state() == state ? 1 : 0,
          {{"device", absl::StrCat(device.ordinal())},
           {"state", Label(v1::DeviceHealth::State_Name(state), "STATE_")}});
    }
  }
  MetricFamily& faults = families->AddCounter(
      "holdfast_device_faults_total",
      "Executors that died unasked while their session could use the device.");
  for (const v1::Device& device : list.devices()) {
    faults.Add(Number(device.health().faults()), OfDevice(device.ordinal()));
  }
  CollectProbes(list, families);
}

// One figure of NVML's, of the devices that tell it.
struct TelemetryFigure {
  const char* name;
  const char* help;
  // Nullopt: the device does not tell it.
  std::optional<double> (*get)(const v1::DeviceTelemetry&);
};

constexpr TelemetryFigure kTelemetryGauges[] = {
    {"holdfast_device_memory_used_bytes",
     "Memory that all processes use on the device, as NVML reports it.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_memory_used()) return std::nullopt;
       return Number(t.memory_used());
     }},
    {"holdfast_device_utilization_ratio",
     "Share of NVML's last sample period in which a kernel ran.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_gpu_utilization()) return std::nullopt;
       return t.gpu_utilization() / 100.0;
     }},
    {"holdfast_device_temperature_celsius", "Temperature of the device.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_temperature()) return std::nullopt;
       return t.temperature();
     }},
    {"holdfast_device_power_watts", "Power that the device draws.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_power()) return std::nullopt;
       return t.power() / 1000.0;
     }},
    {"holdfast_device_sm_clock_hertz", "Clock of the multiprocessors.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_sm_clock()) return std::nullopt;
       return t.sm_clock() * 1e6;
     }},
    {"holdfast_device_last_xid",
     "Number of the last Xid error that the driver reported.",
     [](const v1::DeviceTelemetry& t) -> std::optional<double> {
       if (!t.has_last_xid()) return std::nullopt;
       return t.last_xid();
     }},
};

void CollectTelemetry(const v1::ListDevicesResponse& list,
                      MetricFamilies* families) {
  for (const TelemetryFigure& figure : kTelemetryGauges) {
    MetricFamily& family = families->AddGauge(figure.name, figure.help);
    for (const v1::Device& device : list.devices()) {
      const auto value = figure.get(device.telemetry());
      if (value.has_value()) family.Add(*value, OfDevice(device.ordinal()));
    }
  }
  MetricFamily& errors = families->AddCounter(
      "holdfast_device_ecc_errors_total",
      "Errors of the device's memory since its driver was loaded.");
  for (const v1::Device& device : list.devices()) {
    const v1::DeviceTelemetry& telemetry = device.telemetry();
    const std::string ordinal = absl::StrCat(device.ordinal());
    if (telemetry.has_ecc_corrected()) {
      errors.Add(Number(telemetry.ecc_corrected()),
                 {{"device", ordinal}, {"kind", "corrected"}});
    }
    if (telemetry.has_ecc_uncorrected()) {
      errors.Add(Number(telemetry.ecc_uncorrected()),
                 {{"device", ordinal}, {"kind", "uncorrected"}});
    }
  }
}

// The account of each tenant of the policy, beside its quota.
void CollectAccounts(const MetricSources& sources, MetricFamilies* families) {
  std::map<std::string, uint64_t> sessions;
  for (const auto& session : sources.sessions.List()) {
    ++sessions[session->client()];
  }
  std::vector<std::shared_ptr<Tenant>> tenants = sources.tenants.List();
  std::erase_if(tenants, [](const std::shared_ptr<Tenant>& tenant) {
    return tenant->kind() != Tenant::Kind::kNamed;
  });
  MetricFamily& open = families->AddGauge("holdfast_tenant_sessions",
                                          "Sessions by tenant of the policy.");
  for (const auto& tenant : tenants) {
    open.Add(Number(sessions[tenant->name()]), {{"tenant", tenant->name()}});
  }
  const std::pair<const char*,
                  const std::shared_ptr<Quota>& (Tenant::*)() const>
      kinds[] = {{"device", &Tenant::device_bytes},
                 {"pinned", &Tenant::pinned_bytes},
                 {"arena", &Tenant::arena_bytes},
                 {"collections", &Tenant::collection_bytes}};
  const auto add = [&](MetricFamily& family, uint64_t (*get)(const Quota&)) {
    for (const auto& tenant : tenants) {
      for (const auto& [kind, quota] : kinds) {
        family.Add(Number(get(*((*tenant).*quota)())),
                   {{"tenant", tenant->name()}, {"kind", kind}});
      }
    }
  };
  add(families->AddGauge("holdfast_tenant_memory_bytes",
                         "Memory by tenant of the policy and kind: buffers on "
                         "devices and pinned ones, arenas, collections."),
      [](const Quota& quota) { return quota.used(); });
  add(families->AddGauge("holdfast_tenant_memory_limit_bytes",
                         "The tenant's quota of it; 0: no limit."),
      [](const Quota& quota) {
        return quota.limit() == Quota::kUnlimited ? 0 : quota.limit();
      });
}

}  // namespace

MetricFamilies DaemonMetrics::Collect() {
  MetricFamilies families;
  families.AddGauge("holdfast_build_info", "The daemon's version, in a label.")
      .Add(1, {{"version", server::kVersion}});
  CollectDevices(&families);
  CollectSessions(&families);
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

void DaemonMetrics::CollectDevices(MetricFamilies* families) {
  // Not waited for: without an executor there are no samples.
  const auto catalogue = sources_.executors.Devices(absl::InfinitePast());
  v1::ListDevicesResponse list;
  if (catalogue.ok()) {
    list = (*catalogue)->List(sources_.memory);
    for (v1::Device& device : *list.mutable_devices()) {
      sources_.describe(&device);
    }
    *list.mutable_driver() = (*catalogue)->driver();
  }
  MetricFamily& info = families->AddGauge(
      "holdfast_device_info", "The devices that are served, in labels.");
  for (const v1::Device& device : list.devices()) {
    Add(info, list.driver(), device);
  }
  MetricFamily& total = families->AddGauge("holdfast_device_memory_bytes",
                                           "Memory that the device has.");
  for (const v1::Device& device : list.devices()) {
    total.Add(Number(device.total_memory()), OfDevice(device.ordinal()));
  }
  MetricFamily& free =
      families->AddGauge("holdfast_device_memory_free_bytes",
                         "Memory that is free, as far as the daemon knows.");
  for (const v1::Device& device : list.devices()) {
    if (!device.has_free_memory()) continue;
    free.Add(Number(device.free_memory()), OfDevice(device.ordinal()));
  }
  CollectHealth(list, families);
  CollectTelemetry(list, families);
  CollectGpuTime(list, families);
}

void DaemonMetrics::CollectGpuTime(const v1::ListDevicesResponse& list,
                                   MetricFamilies* families) {
  const auto add = [&](const ExecutionCounts& counts,
                       const MetricFamily::Labels& labels,
                       MetricFamily& family) {
    for (const v1::Device& device : list.devices()) {
      if (device.ordinal() >= counts.gpu_times.size()) continue;
      MetricFamily::Labels all = labels;
      all.emplace_back("device", absl::StrCat(device.ordinal()));
      family.Add(Number(counts.gpu_times[device.ordinal()]) * 1e-9, all);
    }
  };
  add(sources_.totals.Sum(), {},
      families->AddCounter("holdfast_gpu_seconds_total",
                           "Time in which sessions had work on the device; "
                           "sessions that share it count each."));
  std::vector<std::pair<std::string, ExecutionCounts>> tenants;
  for (const auto& tenant : sources_.tenants.List()) {
    if (tenant->kind() != Tenant::Kind::kNamed) continue;
    tenants.emplace_back(tenant->name(), tenant->execution().Sum());
  }
  tenants.emplace_back(kOtherTenants, sources_.tenants.others().Sum());
  MetricFamily& seconds = families->AddCounter(
      "holdfast_tenant_gpu_seconds_total",
      "The same by tenant of the policy; (other): all other tenants.");
  for (const auto& [name, counts] : tenants) {
    add(counts, {{"tenant", name}}, seconds);
  }
  CollectTenants(families);
  CollectAccounts(sources_, families);
  MetricFamily& launches = families->AddCounter(
      "holdfast_tenant_launches_total",
      "Launches of kernels and graphs that devices were given, by tenant of "
      "the policy; (other): all other tenants.");
  for (const auto& [name, counts] : tenants) {
    launches.Add(Number(counts.all_launches()), {{"tenant", name}});
  }
  MetricFamily& bytes = families->AddCounter(
      "holdfast_tenant_copied_bytes_total",
      "Bytes that sessions copied, by tenant of the policy and path taken; "
      "(other): all other tenants.");
  for (const auto& [name, counts] : tenants) {
    for (size_t path = 1; path < counts.copies.size(); ++path) {
      bytes.Add(Number(counts.copies[path].bytes),
                {{"tenant", name}, {"path", PathLabel(path)}});
    }
  }
  CollectFaults(families);
}

void DaemonMetrics::CollectFaults(MetricFamilies* families) {
  MetricFamily& faults = families->AddCounter(
      "holdfast_tenant_faults_total",
      "Executors that died while they had a session, by tenant of the policy; "
      "(other): all other tenants.");
  MetricFamily& recoveries = families->AddCounter(
      "holdfast_recoveries_total",
      "Sessions that were brought back after the death of their executor, by "
      "tenant of the policy; (other): all other tenants.");
  const auto add = [&](const std::string& name, const ExecutionTotals& totals) {
    faults.Add(Number(totals.lost()), {{"tenant", name}});
    recoveries.Add(Number(totals.recovered()), {{"tenant", name}});
  };
  for (const auto& tenant : sources_.tenants.List()) {
    if (tenant->kind() != Tenant::Kind::kNamed) continue;
    add(tenant->name(), tenant->execution());
  }
  add(kOtherTenants, sources_.tenants.others());
}

void DaemonMetrics::CollectTenants(MetricFamilies* families) {
  MetricFamily& reserved = families->AddGauge(
      "holdfast_tenant_reserved_device_memory_bytes",
      "Memory of each of its devices that no other tenant can take, by tenant "
      "of the policy.");
  MetricFamily& seconds = families->AddCounter(
      "holdfast_tenant_compile_seconds_total",
      "Time that compilers have worked, by tenant of the policy; (other): all "
      "other tenants.");
  MetricFamily& requests = families->AddGauge(
      "holdfast_tenant_compile_requests",
      "Requests that wait for a compiler or run, by tenant of the policy.");
  for (const auto& tenant : sources_.tenants.List()) {
    if (tenant->kind() != Tenant::Kind::kNamed) continue;
    const MetricFamily::Labels labels = {{"tenant", tenant->name()}};
    const CompileBudget& budget = *tenant->compile_budget();
    reserved.Add(Number(tenant->reserved_device_bytes()), labels);
    seconds.Add(absl::ToDoubleSeconds(budget.total_time()), labels);
    requests.Add(Number(budget.requests()), labels);
  }
  seconds.Add(
      absl::ToDoubleSeconds(sources_.tenants.other_compiling().total_time()),
      {{"tenant", kOtherTenants}});
}

void DaemonMetrics::CollectSessions(MetricFamilies* families) {
  Holdings held;
  for (const auto& session : sources_.sessions.List()) {
    held.Add(session->Info());
  }
  CollectStates(held, families);
  families
      ->AddGauge("holdfast_sessions_limit",
                 "Sessions that may be open at once.")
      .Add(Number(sources_.sessions.max_sessions()));
  CollectHoldings(held, families);
}

void DaemonMetrics::CollectMemory(MetricFamilies* families) {
  v1::MemoryTotals totals;
  sources_.ledger.Report(&totals);
  MetricFamily& reserved = families->AddGauge(
      "holdfast_device_memory_reserved_bytes",
      "Device memory that the daemon's sessions and collections have taken.");
  for (const v1::MemoryTotals::Device& device : totals.devices()) {
    reserved.Add(Number(device.reserved_bytes().used()),
                 OfDevice(device.device()));
  }
  MetricFamily& promised = families->AddGauge(
      "holdfast_device_memory_promised_bytes",
      "Device memory that is reserved for tenants, in use or not.");
  for (const auto& [device, sums] : sources_.ledger.devices()) {
    promised.Add(Number(sums.reserved), OfDevice(device));
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
      .samples.push_back(sources_.compilers.durations().Sample());
}

DiskCache::Statistics DaemonMetrics::DiskCacheStatistics() {
  absl::MutexLock lock(&mutex_);
  if (absl::Now() - disk_cache_read_ >= kDiskCacheAge) {
    disk_cache_ = sources_.disk_cache.statistics();
    disk_cache_read_ = absl::Now();
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
