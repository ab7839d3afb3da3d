// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/tenant_metrics.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/counters/execution_totals.h"
#include "server/telemetry/device_metrics.h"
#include "server/telemetry/metric_values.h"
#include "server/tenants/compile_budget.h"
#include "server/tenants/tenant.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {
namespace {

using Tenants = std::vector<std::shared_ptr<Tenant>>;
using NamedCounts = std::vector<std::pair<std::string, ExecutionCounts>>;

// Those that the policy names.
Tenants NamedTenants(const TenantTable& table) {
  Tenants tenants = table.List();
  std::erase_if(tenants, [](const std::shared_ptr<Tenant>& tenant) {
    return tenant->kind() != Tenant::Kind::kNamed;
  });
  return tenants;
}

MetricFamily::Labels TenantLabel(const std::string& name) {
  return {{"tenant", name}};
}

void CollectGpuTimes(const v1::ListDevicesResponse& list,
                     const NamedCounts& counts, MetricFamilies* families) {
  MetricFamily& seconds = families->AddCounter(
      "holdfast_tenant_gpu_seconds_total",
      "The same by tenant of the policy; (other): all other tenants.");
  for (const auto& [name, of_tenant] : counts) {
    AddGpuTimes(list, of_tenant, TenantLabel(name), seconds);
  }
}

void CollectReservations(const Tenants& tenants, MetricFamilies* families) {
  MetricFamily& reserved = families->AddGauge(
      "holdfast_tenant_reserved_device_memory_bytes",
      "Memory of each of its devices that no other tenant can take, by tenant "
      "of the policy.");
  for (const auto& tenant : tenants) {
    reserved.Add(Number(tenant->reserved_device_bytes()),
                 TenantLabel(tenant->name()));
  }
}

void CollectCompiling(const TenantTable& table, const Tenants& tenants,
                      MetricFamilies* families) {
  MetricFamily& seconds = families->AddCounter(
      "holdfast_tenant_compile_seconds_total",
      "Time that compilers have worked, by tenant of the policy; (other): all "
      "other tenants.");
  for (const auto& tenant : tenants) {
    seconds.Add(absl::ToDoubleSeconds(tenant->compile_budget()->total_time()),
                TenantLabel(tenant->name()));
  }
  seconds.Add(absl::ToDoubleSeconds(table.other_compiling().total_time()),
              TenantLabel(kOtherTenants));
  MetricFamily& requests = families->AddGauge(
      "holdfast_tenant_compile_requests",
      "Requests that wait for a compiler or run, by tenant of the policy.");
  for (const auto& tenant : tenants) {
    requests.Add(Number(tenant->compile_budget()->requests()),
                 TenantLabel(tenant->name()));
  }
}

// The account of each tenant of the policy, beside its quota.
void CollectAccounts(const MetricSources& sources, const Tenants& tenants,
                     MetricFamilies* families) {
  std::map<std::string, uint64_t> sessions;
  for (const auto& session : sources.sessions.List()) {
    ++sessions[session->client()];
  }
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

void CollectWork(const NamedCounts& counts, MetricFamilies* families) {
  MetricFamily& launches = families->AddCounter(
      "holdfast_tenant_launches_total",
      "Launches of kernels and graphs that devices were given, by tenant of "
      "the policy; (other): all other tenants.");
  for (const auto& [name, of_tenant] : counts) {
    launches.Add(Number(of_tenant.all_launches()), TenantLabel(name));
  }
  MetricFamily& bytes = families->AddCounter(
      "holdfast_tenant_copied_bytes_total",
      "Bytes that sessions copied, by tenant of the policy and path taken; "
      "(other): all other tenants.");
  for (const auto& [name, of_tenant] : counts) {
    for (size_t path = 1; path < of_tenant.copies.size(); ++path) {
      bytes.Add(Number(of_tenant.copies[path].bytes),
                {{"tenant", name}, {"path", PathLabel(path)}});
    }
  }
}

void CollectFaults(const TenantTable& table, const Tenants& tenants,
                   MetricFamilies* families) {
  const auto add = [&](MetricFamily& family,
                       uint64_t (ExecutionTotals::*get)() const) {
    for (const auto& tenant : tenants) {
      family.Add(Number((tenant->execution().*get)()),
                 TenantLabel(tenant->name()));
    }
    family.Add(Number((table.others().*get)()), TenantLabel(kOtherTenants));
  };
  add(families->AddCounter("holdfast_tenant_faults_total",
                           "Executors that died while they had a session, by "
                           "tenant of the policy; (other): all other tenants."),
      &ExecutionTotals::lost);
  add(families->AddCounter(
          "holdfast_recoveries_total",
          "Sessions that were brought back after the death of their executor, "
          "by tenant of the policy; (other): all other tenants."),
      &ExecutionTotals::recovered);
}

}  // namespace

void CollectTenantMetrics(const MetricSources& sources,
                          const v1::ListDevicesResponse& list,
                          MetricFamilies* families) {
  const TenantTable& table = sources.tenants;
  const Tenants tenants = NamedTenants(table);
  NamedCounts counts;
  for (const auto& tenant : tenants) {
    counts.emplace_back(tenant->name(), tenant->execution().Sum());
  }
  counts.emplace_back(kOtherTenants, table.others().Sum());
  CollectGpuTimes(list, counts, families);
  CollectReservations(tenants, families);
  CollectCompiling(table, tenants, families);
  CollectAccounts(sources, tenants, families);
  CollectWork(counts, families);
  CollectFaults(table, tenants, families);
}

}  // namespace holdfast
