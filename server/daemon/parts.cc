// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/parts.h"

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "server/config/child_arguments.h"
#include "server/daemon/config_check.h"

namespace holdfast::server {
namespace {

// Where generated code of the software device is kept.
std::string CodeDirectory(const Config& config) {
  return config.cache_directory.empty() ? "" : config.cache_directory + "/code";
}

supervisor::SessionQuotas QuotasOf(const Config& config) {
  return {.device_bytes = config.session_memory,
          .pinned_bytes = config.pinned_memory,
          .arena_bytes = config.arena_memory,
          .handles = config.max_handles,
          .outstanding_commands = config.outstanding_commands};
}

supervisor::SessionRegistry::Options SessionOptions(const Config& config,
                                                    DaemonParts& parts) {
  ExecutorFleet& fleet = parts.fleet;
  return {
      .fault_limits = {.burst = config.max_faults},
      .max_sessions = config.max_sessions,
      .max_sessions_per_client = config.max_sessions_per_client,
      .quotas = QuotasOf(config),
      .kernel_time_limit = config.kernel_time_limit,
      .detached_limit = config.detached_session_limit,
      .socket_directory = parts.directory->path(),
      .socket_mode = config.socket_mode,
      .totals = &parts.totals,
      .kept = &parts.kept,
      .choose_devices =
          [&fleet](const v1::OpenSessionRequest& request, const Tenant& tenant,
                   absl::Time deadline) {
            return fleet.ChooseDevices(request, tenant, deadline);
          },
      .take =
          [&fleet](const Tenant& tenant, const std::vector<uint32_t>& devices,
                   absl::Time deadline) {
            return fleet.TakeExecutor(tenant, devices, deadline);
          },
      .find_places =
          [&fleet](const Tenant& tenant,
                   const supervisor::PlaceRequest& request,
                   absl::Time deadline) {
            return fleet.FindPlaces(tenant, request, deadline);
          }};
}

}  // namespace

DaemonParts::DaemonParts(const Config& config, Spawner& spawner,
                         Successor successor,
                         const std::vector<std::string>& inherited,
                         std::unique_ptr<RuntimeDirectory> runtime_directory,
                         std::unique_ptr<AuditLog> audit_log)
    : kept(inherited),
      directory(std::move(runtime_directory)),
      kept_directory(kept.Keep({"directory", {}}, directory->descriptor())),
      audit(std::move(audit_log)),
      store(config.object_store),
      code(CodeDirectory(config), config.cache_disk / 4),
      ledger(config.host_memory, shares, ServesOthers(config)),
      fleet(config, spawner, health,
            {.store = store,
             .code = code,
             .ledger = ledger,
             .memory = memory,
             .exports = exports,
             .collections = collections,
             .kept = kept,
             .totals = totals,
             .pacer = pacer}),
      compilation(config, spawner, store,
                  [this](absl::Time deadline) {
                    return fleet.CompileDefaults(deadline);
                  }),
      sessions(SessionOptions(config, *this)),
      idle_suspension(sessions, config.suspend_idle),
      arguments(successor.arguments()),
      upgrade(std::move(successor), TakenAddresses(config), sessions, kept,
              [this](const std::string& binary, absl::Time deadline) {
                return fleet.StartAhead(
                    binary, sessions.NextExecutors().devices, deadline);
              }) {
  tenants.KeepIn(&kept);
  collections.KeepIn(&kept);
}

}  // namespace holdfast::server
