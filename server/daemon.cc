// SPDX-License-Identifier: Apache-2.0
#include "server/daemon.h"

#include <grpc/grpc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/malloc_tuning.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/child_arguments.h"
#include "server/collections/collection_service.h"
#include "server/collections/collection_suspension.h"
#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/compile/installation.h"
#include "server/compile/object_store.h"
#include "server/compile/program_compiler.h"
#include "server/health/device_health_table.h"
#include "server/health/device_probe.h"
#include "server/health/device_prober.h"
#include "server/health/device_telemetry.h"
#include "server/health/health.h"
#include "server/process/sandbox/policy.h"
#include "server/restart/descriptor_store.h"
#include "server/restart/keeper_watch.h"
#include "server/restart/kept_state.h"
#include "server/restart/restore.h"
#include "server/restart/upgrade.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/callback_thread.h"
#include "server/rpc/peer_table.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/tls_certificates.h"
#include "server/rpc/unix_socket.h"
#include "server/runtime_directory.h"
#include "server/service_manager/notify.h"
#include "server/service_manager/watchdog.h"
#include "server/services/admin_service.h"
#include "server/services/compile_service.h"
#include "server/services/device_service.h"
#include "server/services/forwarded_service.h"
#include "server/services/object_service.h"
#include "server/services/session_service.h"
#include "server/services/tenant_admin.h"
#include "server/sharing/descriptor_server.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/code_cache.h"
#include "server/supervisor/device_choice.h"
#include "server/supervisor/device_memory.h"
#include "server/supervisor/executor_pool.h"
#include "server/supervisor/group_users.h"
#include "server/supervisor/idle_suspension.h"
#include "server/supervisor/memory_ledger.h"
#include "server/supervisor/mps_servers.h"
#include "server/supervisor/session_place.h"
#include "server/supervisor/session_registry.h"
#include "server/supervisor/share_pacer.h"
#include "server/supervisor/shared_executors.h"
#include "server/telemetry/call_metrics.h"
#include "server/telemetry/daemon_metrics.h"
#include "server/telemetry/execution_totals.h"
#include "server/telemetry/metric_sources.h"
#include "server/telemetry/metrics_server.h"
#include "server/telemetry/status_report.h"
#include "server/tenants/audit_log.h"
#include "server/tenants/callers.h"
#include "server/tenants/device_shares.h"
#include "server/tenants/policy_file.h"
#include "server/tenants/tenant_table.h"
#include "server/version.h"

namespace holdfast::server {
namespace {

// For calls that are still open when every session is gone, and for idle
// connections, whose clients may not look at them.
constexpr absl::Duration kLastCalls = absl::Milliseconds(200);

// With --require-sandbox, the wait for an executor's report of its confinement.
constexpr absl::Duration kFirstExecutor = absl::Minutes(2);

// The wait for devices that a policy divides.
constexpr absl::Duration kDevicesOfPolicy = absl::Seconds(30);

// The wait for devices whose memory the daemon before had.
constexpr absl::Duration kRestoredDevices = absl::Minutes(2);

// The time for work to end before an upgrade that a signal asks for.
constexpr absl::Duration kParkTime = absl::Seconds(30);

// How often it is asked how many devices there are, until it is known.
constexpr absl::Duration kCountTime = absl::Milliseconds(100);

// Calls of Compile that run, wait for another's program, or for the disk.
constexpr size_t kMaxSharing = 256;

// Calls that wait for an executor, the disk or a process's end.
constexpr size_t kMaxWaitingCalls = 256;

absl::Status SpawnerGone() {
  return absl::UnavailableError(
      "the spawner process has died, no executor can be started any more");
}

// Where programs are looked for.
std::string SearchPath() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

decltype(supervisor::MpsServers::Options::start) MpsControlStart(
    const Config& config, Spawner& spawner) {
  return [&spawner, &config](const std::string& control_daemon,
                             const std::vector<std::string>& environment) {
    return spawner.Spawn(MpsControlArguments(config, control_daemon),
                         {.environment = environment});
  };
}

// Null: NVML is not asked.
DeviceTelemetry::Start TelemetryStart(const Config& config, Spawner& spawner) {
  const bool gpus = ExecutorRole(config.device) == SandboxRole::kCudaExecutor;
  if (config.telemetry == "off" || (config.telemetry == "auto" && !gpus)) {
    return nullptr;
  }
  return [&spawner, arguments = TelemetryArguments(config)] {
    return spawner.Spawn(arguments);
  };
}

bool KeepsOnDisk(const Config& config) {
  return config.cache_disk > 0 && !config.cache_directory.empty();
}

// Where generated code of the software device is kept.
std::string CodeDirectory(const Config& config) {
  return config.cache_directory.empty() ? "" : config.cache_directory + "/code";
}

internal::Installation KnownCompilers(const Config& config) {
  if (!KeepsOnDisk(config)) return {};
  return ReadInstallation(config.cache_directory);
}

// Where that fails, the next daemon waits for its first compiler.
void RememberCompilers(const Config& config,
                       const internal::Installation& installation) {
  if (!KeepsOnDisk(config)) return;
  const absl::Status written =
      WriteInstallation(config.cache_directory, installation);
  if (!written.ok()) LogDebug("not remembered: ", written.message());
}

// The directory of each Unix socket is made if it is missing.
absl::Status MakeSocketDirectories(const Config& config) {
  for (const Endpoint& endpoint : config.listen) {
    if (endpoint.kind != Endpoint::Kind::kUnix) continue;
    const auto directory = std::filesystem::path(endpoint.path).parent_path();
    std::error_code error;
    if (std::filesystem::exists(directory, error)) continue;
    const auto& own = config.operator_sockets;
    const bool for_operators =
        std::find(own.begin(), own.end(), endpoint.path) != own.end();
    HOLDFAST_RETURN_IF_ERROR(MakePrivateDirectory(
        directory.string(), for_operators ? 0600 : config.socket_mode));
  }
  return absl::OkStatus();
}

// The directory of the daemon before, or a new one. Sessions whose directory is
// gone, or outside --runtime-dir, cannot be reached any more: they end, but not
// collections and what else others have of them.
absl::StatusOr<std::unique_ptr<RuntimeDirectory>> DirectoryOfSockets(
    const Config& config, KeptState* left) {
  if (left->directory.valid()) {
    auto directory =
        RuntimeDirectory::Adopt(config.runtime_dir, std::move(left->directory));
    if (directory.ok()) return directory;
    LogError("sessions of the daemon before are lost: ",
             directory.status().message());
    for (auto& [number, session] : left->sessions) session.record.reset();
  }
  return RuntimeDirectory::Create(config.runtime_dir, config.socket_mode);
}

supervisor::SessionQuotas QuotasOf(const Config& config) {
  return {.device_bytes = config.session_memory,
          .pinned_bytes = config.pinned_memory,
          .arena_bytes = config.arena_memory,
          .handles = config.max_handles,
          .outstanding_commands = config.outstanding_commands};
}

RpcServer::Options ServerOptions(const Config& config,
                                 std::shared_ptr<TlsCertificates> tls,
                                 CallMetrics& calls, InheritedSockets sockets) {
  return {.endpoints = config.listen,
          .socket_mode = config.socket_mode,
          .operator_sockets = {config.operator_sockets.begin(),
                               config.operator_sockets.end()},
          .tls = std::move(tls),
          .insecure = config.insecure,
          .max_connections = config.max_connections,
          .inherited = std::move(sockets),
          .make_interceptors = [&calls] { return calls.MakeInterceptors(); }};
}

bool ListsAllSessions(const Config& config) {
  return config.list_sessions == "all";
}

// A file of the protocol has one service.
const google::protobuf::ServiceDescriptor& ServiceBeside(
    const google::protobuf::Descriptor* message) {
  return *message->file()->service(0);
}

std::string Join(const std::vector<Endpoint>& endpoints) {
  return absl::StrJoin(endpoints, " ",
                       [](std::string* out, const Endpoint& endpoint) {
                         out->append(endpoint.ToString());
                       });
}

}  // namespace

// In the order of construction: each uses only what stands above it.
struct Daemon::Parts {
  Parts(const Config& config, Spawner& spawner, StopEvents& events,
        Successor successor, const std::vector<std::string>& inherited,
        std::unique_ptr<RuntimeDirectory> runtime_directory,
        std::unique_ptr<AuditLog> audit_log)
      : kept(inherited),
        directory(std::move(runtime_directory)),
        kept_directory(kept.Keep({"directory", {}}, directory->descriptor())),
        audit(std::move(audit_log)),
        store(config.object_store),
        code(CodeDirectory(config), config.cache_disk / 4),
        ledger(config.host_memory, shares),
        device_health({.interval = config.probe_interval,
                       .on_change =
                           [this](uint32_t device, bool ready) {
                             executors.SetUsable(device, ready);
                             shared_executors.SetUsable(device, ready);
                             health.SetDevice(device, ready);
                           }}),
        telemetry(TelemetryStart(config, spawner)),
        executors(
            {.start =
                 [this, &config, &spawner,
                  arguments =
                      ExecutorArguments(config, "executor")](uint32_t device) {
                   return supervisor::ExecutorProcess::Start(
                       spawner, OnDevice(arguments, device),
                       {.namespaces =
                            NamespacesOf(ExecutorRole(config.device))},
                       ExecutorServices(device));
                 },
             .warm = config.warm_executors,
             .on_health =
                 [this](bool startable) { health.SetExecutors(startable); }}),
        collection_suspension(
            collections, ledger,
            {.take =
                 [this](uint32_t device, absl::Time deadline) {
                   return executors.TakeProcess({device}, deadline);
                 },
             .directory = config.suspend_directory}),
        group_users([&spawner] { return spawner.TakeUser(); }),
        mps({.on_gpus =
                 ExecutorRole(config.device) == SandboxRole::kCudaExecutor,
             .control_daemon =
                 supervisor::MpsServers::FindControlDaemon(SearchPath()),
             .start = MpsControlStart(config, spawner)}),
        shared_executors(
            mps,
            [this, &config, &spawner,
             arguments = ExecutorArguments(config, "executor")](
                const supervisor::SharedExecutors::Start& start) {
              return StartShared(config, spawner, arguments, start);
            },
            config.warm_executors),
        compilers({.start =
                       [&spawner, arguments = CompilerArguments(config)] {
                         return spawner.Spawn(arguments, Namespaces::kAll);
                       },
                   .workers = config.compiler_workers,
                   .max_queue = config.compile_queue,
                   .time_limit = config.compile_timeout,
                   .installation = KnownCompilers(config),
                   .on_start =
                       [&config](const internal::Installation& installation) {
                         RememberCompilers(config, installation);
                       }}),
        disk_cache(config.cache_directory, config.cache_disk),
        cache(config.cache_memory, &disk_cache),
        program_compiler(
            compilers, store, cache,
            [this](absl::Time deadline) { return CompileDefaults(deadline); }),
        sessions({.fault_limits = {.burst = config.max_faults},
                  .max_sessions = config.max_sessions,
                  .max_sessions_per_client = config.max_sessions_per_client,
                  .quotas = QuotasOf(config),
                  .kernel_time_limit = config.kernel_time_limit,
                  .detached_limit = config.detached_session_limit,
                  .socket_directory = directory->path(),
                  .socket_mode = config.socket_mode,
                  .totals = &totals,
                  .kept = &kept,
                  .choose_devices =
                      [this](const v1::OpenSessionRequest& request,
                             const Tenant& tenant, absl::Time deadline) {
                        return ChooseDevices(request, tenant, deadline);
                      },
                  .take =
                      [this](const Tenant& tenant,
                             const std::vector<uint32_t>& devices,
                             absl::Time deadline) {
                        return TakeExecutor(tenant, devices, deadline);
                      },
                  .find_places =
                      [this](const Tenant& tenant,
                             const supervisor::PlaceRequest& request,
                             absl::Time deadline) {
                        return FindPlaces(tenant, request, deadline);
                      }}),
        idle_suspension(sessions, config.suspend_idle),
        arguments(successor.arguments()),
        upgrade(std::move(successor), sessions, kept),
        tenant_admin(tenants, sessions, collections),
        session_service(sessions, callers, threads, ledger, exports,
                        ListsAllSessions(config)),
        device_service(executors, memory, device_health, telemetry, sessions,
                       callers, threads, ListsAllSessions(config)),
        compile_service(program_compiler, callers,
                        config.compile_queue + kMaxSharing),
        object_service(store, callers),
        collection_service(collections, collection_suspension, sessions,
                           callers, threads),
        admin_service(sessions, compilers, cache, disk_cache, tenant_admin,
                      callers, threads, config.suspend_directory,
                      {.prepare =
                           [this, &events](absl::Time deadline) {
                             auto version = upgrade.PrepareForCall(deadline);
                             if (version.ok()) events.NotifyUpgrade();
                             return version;
                           },
                       .answered = [this] { upgrade.NoteAnswered(); }}),
        command_service(ServiceBeside(v1::CommandBatch::descriptor()), sessions,
                        ForwardedService::Traffic::kCommands, threads),
        transfer_service(ServiceBeside(v1::UploadRequest::descriptor()),
                         sessions, ForwardedService::Traffic::kBytes, threads),
        prober(device_health,
               {.count_devices = [this] { return CountDevices(); },
                .probe =
                    [this, &config, &spawner,
                     arguments =
                         ExecutorArguments(config, "probe")](uint32_t device) {
                      return ProbeDevice(
                          [&] {
                            return spawner.Spawn(
                                OnDevice(arguments, device),
                                NamespacesOf(ExecutorRole(config.device)));
                          },
                          config.probe_timeout,
                          [this] { return device_health.stopped(); });
                    }}),
        sources{sessions,
                executors,
                shared_executors,
                compilers,
                cache,
                disk_cache,
                ledger,
                memory,
                totals,
                tenants,
                calls,
                [this](v1::Device* device) { AddHealth(device); },
                [this] { return server->connections(); },
                [this] { return server->refused_connections(); }},
        metrics(sources),
        status(sources, ListsAllSessions(config) ||
                            !config.metrics_password_file.empty()) {
    tenants.KeepIn(&kept);
    collections.KeepIn(&kept);
  }

  // Memory is charged to devices, which executors find; one that cannot be
  // started is tried again.
  absl::Status AwaitRestoredDevices() {
    const absl::Time deadline = absl::Now() + kRestoredDevices;
    while (true) {
      const absl::Status found = executors.Devices(deadline).status();
      if (found.ok() || absl::Now() >= deadline) return found;
      absl::SleepFor(kCountTime);
    }
  }

  // Has again what the daemon before this one had. REQUIRES: the policy is
  // loaded.
  absl::Status RestoreFrom(KeptState state) {
    if (!state.sessions.empty() || !state.tenants.empty()) {
      HOLDFAST_RETURN_IF_ERROR(AwaitRestoredDevices());
    }
    Restore restore({tenants,
                     sessions,
                     {store, ledger, exports, collections, memory, kept}});
    if (state.daemon.paused()) {
      LogWarning(
          "an operator has asked the daemon before to drain: no new "
          "sessions until `holdfast admin drain --stop`");
      sessions.SetPaused(true);
    }
    totals.Add(state.counters.daemon());
    restore.Run(std::move(state));
    if (restore.sessions() + restore.versions() > 0) {
      LogInfo("taken over from the daemon before: ", restore.sessions(),
              " sessions, ", restore.versions(), " versions of collections");
    }
    return absl::OkStatus();
  }

  // Everything that may fail at the start.
  absl::Status Begin(const Config& config, KeptState left,
                     Inheritance* inheritance) {
    // A daemon that was executed in place is watched already, and may wait for
    // devices for longer than that allows.
    watchdog = std::make_unique<Watchdog>(Watchdog::Interval(), [] {});
    if (config.policy.empty() && ServesOthers(config)) {
      LogWarning(
          "no --policy: everybody who can connect is served, without a quota");
    }
    HOLDFAST_RETURN_IF_ERROR(LoadPolicy(config));
    HOLDFAST_RETURN_IF_ERROR(LoadCertificates(config));
    HOLDFAST_RETURN_IF_ERROR(ServeDescriptors(config.socket_mode));
    if (config.require_sandbox) {
      const absl::Time deadline = absl::Now() + kFirstExecutor;
      HOLDFAST_RETURN_IF_ERROR(executors.Devices(deadline).status());
    }
    HOLDFAST_RETURN_IF_ERROR(RestoreFrom(std::move(left)));
    RpcServer::Options options =
        ServerOptions(config, tls, calls, std::move(inheritance->sockets));
    options.left = KeptSockets(std::move(inheritance->listeners));
    options.store = &kept;
    HOLDFAST_ASSIGN_OR_RETURN(
        server, RpcServer::Start(std::move(options), Services(), peers));
    HOLDFAST_RETURN_IF_ERROR(ServeMetrics(config));
    kept.Settle();
    if (config.suspend_idle > absl::ZeroDuration()) idle_suspension.Start();
    return absl::OkStatus();
  }

  // Ends the process as a kill would, if the next daemon can go on then with
  // all sessions: their sockets stay, and the store has the rest.
  void EndUnchanged(const absl::Status& reason) const {
    if (!kept.outlives_kill()) return;
    LogError("stopping: ", reason.message(),
             "; sessions and collections wait for the next daemon");
    std::_Exit(EXIT_FAILURE);
  }

  // Counters go on in the next daemon from here. REQUIRES: every session's work
  // has ended.
  void KeepCounters() {
    internal::CountersRecord counters;
    *counters.mutable_daemon() = totals.Record();
    tenants.Record(&counters);
    sessions.Record(&counters);
    kept_counters = kept.KeepRecord({"counters", {}}, counters);
  }

  // For metrics and the status page.
  void AddHealth(v1::Device* device) const {
    *device->mutable_health() = device_health.Get(device->ordinal());
    const auto figures = telemetry.Get(device->uuid());
    if (figures.has_value()) *device->mutable_telemetry() = *figures;
  }

  supervisor::ExecutorProcess::Services ExecutorServices(uint32_t device) {
    return {store,
            code,
            ledger,
            memory,
            exports,
            collections,
            kept,
            totals,
            pacer,
            [this, device](const std::vector<uint32_t>& devices) {
              NoteDeath(device, devices);
            },
            /*shares_server=*/false,
            &collection_suspension};
  }

  // An executor that is a client of its group's MPS server.
  absl::StatusOr<std::unique_ptr<supervisor::ExecutorProcess>> StartShared(
      const Config& config, Spawner& spawner,
      std::vector<std::string> arguments,
      const supervisor::SharedExecutors::Start& start) {
    arguments.push_back(absl::StrCat("--mps-pipe-directory=", *start.pipes));
    supervisor::GroupUsers::Lease user = group_users.Of(start.group);
    supervisor::ExecutorProcess::Services services =
        ExecutorServices(start.device);
    services.shares_server = true;
    // Its control daemon runs at least as long as it does, and nobody else has
    // the server's user before the pipes are gone.
    struct Holds {
      supervisor::GroupUsers::Lease user;  // ends last
      supervisor::MpsServers::Pipes pipes;
    };
    services.died =
        [died = std::move(services.died), holds = Holds{user, start.pipes}](
            const std::vector<uint32_t>& devices) { died(devices); };
    return supervisor::ExecutorProcess::Start(
        spawner, OnDevice(std::move(arguments), start.device),
        {.namespaces = NamespacesOf(ExecutorRole(config.device)),
         .environment = start.environment,
         .user = std::move(user)},
        services);
  }

  absl::StatusOr<std::unique_ptr<supervisor::Executor>> TakeExecutor(
      const Tenant& tenant, const std::vector<uint32_t>& devices,
      absl::Time deadline) {
    const Concurrency concurrency = tenant.concurrency();
    if (!concurrency.shared()) return executors.Take(devices, deadline);
    return shared_executors.Take(concurrency, devices, deadline);
  }

  // An executor has ended unasked: had it no session, on the device that it had
  // a context on.
  void NoteDeath(uint32_t device, const std::vector<uint32_t>& devices) {
    if (devices.empty()) device_health.NoteFault(device);
    for (const uint32_t used : devices) device_health.NoteFault(used);
  }

  std::optional<uint32_t> CountDevices() {
    const auto devices = executors.Devices(absl::Now() + kCountTime);
    if (devices.ok()) return (*devices)->size();
    absl::SleepFor(kCountTime);
    return std::nullopt;
  }

  absl::StatusOr<ProgramCompiler::Defaults> CompileDefaults(
      absl::Time deadline) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto devices, executors.Devices(deadline));
    return ProgramCompiler::Defaults{devices->DefaultTarget(),
                                     devices->DefaultArch(),
                                     devices->driver().version()};
  }

  // All devices with their health.
  absl::StatusOr<v1::ListDevicesResponse> DevicesToChooseFrom(
      absl::Time deadline) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto all, executors.Devices(deadline));
    v1::ListDevicesResponse list = all->List(memory);
    for (v1::Device& device : *list.mutable_devices()) {
      *device.mutable_health() = device_health.Get(device.ordinal());
    }
    return list;
  }

  absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
      const v1::OpenSessionRequest& request, const Tenant& tenant,
      absl::Time deadline) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto all, DevicesToChooseFrom(deadline));
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto devices, supervisor::DevicesOfTenant(all, tenant.devices()));
    return supervisor::ChooseDevices(request, devices);
  }

  absl::StatusOr<std::vector<uint32_t>> FindPlaces(
      const Tenant& tenant, const supervisor::PlaceRequest& request,
      absl::Time deadline) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto all, DevicesToChooseFrom(deadline));
    return supervisor::FindPlaces(request, all, tenant.devices());
  }

  // Where no device works, a policy cannot be compared with it.
  void AwaitDevices() {
    const auto devices = executors.Devices(absl::Now() + kDevicesOfPolicy);
    if (devices.ok()) return;
    LogWarning("the policy's reservations are not compared with devices: ",
               devices.status().message());
  }

  absl::Status LoadPolicy(const Config& config) {
    if (config.policy.empty()) return absl::OkStatus();
    HOLDFAST_ASSIGN_OR_RETURN(const Policy policy, ReadPolicy(config.policy));
    if (NeedsDevices(policy)) AwaitDevices();
    HOLDFAST_RETURN_IF_ERROR(tenants.Apply(policy));
    const std::vector<Concurrency> sharing = SharingOf(policy);
    shared_executors.Retain(sharing);
    mps.Retain(sharing);
    group_users.Retain(sharing);
    return absl::OkStatus();
  }

  // Reads the TLS files for the first time, or again.
  absl::Status LoadCertificates(const Config& config) {
    if (config.tls.empty()) return absl::OkStatus();
    if (tls != nullptr) return tls->Reload();
    HOLDFAST_ASSIGN_OR_RETURN(tls, TlsCertificates::Load(config.tls));
    return absl::OkStatus();
  }

  // Where processes outside Holdfast take exported memory.
  absl::Status ServeDescriptors(mode_t mode) {
    const std::string path = directory->path() + "/exports.fds";
    unlink(path.c_str());  // The daemon before left it.
    HOLDFAST_ASSIGN_OR_RETURN(UniqueFd socket,
                              ListenOnUnixSocket(path, SOCK_SEQPACKET, mode));
    HOLDFAST_ASSIGN_OR_RETURN(
        descriptors, DescriptorServer::Serve(std::move(socket), path, exports));
    exports.SetDescriptorAddress(descriptors->address());
    return absl::OkStatus();
  }

  // REQUIRES: the server has started.
  absl::Status ServeMetrics(const Config& config) {
    if (!config.metrics_address.has_value()) return absl::OkStatus();
    MetricsServer::Options options;
    options.endpoint = *config.metrics_address;
    options.beyond_loopback = config.metrics_beyond_loopback;
    if (!config.metrics_password_file.empty()) {
      HOLDFAST_ASSIGN_OR_RETURN(options.password,
                                ReadPassword(config.metrics_password_file));
    }
    options.collect = [this] { return metrics.Collect(); };
    options.status = [this] { return status.Json(); };
    HOLDFAST_ASSIGN_OR_RETURN(metrics_server,
                              MetricsServer::Start(std::move(options)));
    return absl::OkStatus();
  }

  std::vector<RpcServer::NamedService> Services() {
    return {{v1::SessionService::service_full_name(), &session_service},
            {v1::DeviceService::service_full_name(), &device_service},
            {v1::CompileService::service_full_name(), &compile_service},
            {v1::ObjectService::service_full_name(), &object_service},
            {v1::CollectionService::service_full_name(), &collection_service},
            {v1::AdminService::service_full_name(), &admin_service},
            {v1::CommandService::service_full_name(), &command_service},
            {v1::TransferService::service_full_name(), &transfer_service}};
  }

  DescriptorStore kept;
  const std::unique_ptr<RuntimeDirectory> directory;
  const DescriptorStore::Kept kept_directory;
  DescriptorStore::Kept kept_counters;
  Health health;
  PeerTable peers;
  const std::shared_ptr<DeviceShares> shares = std::make_shared<DeviceShares>();
  TenantTable tenants{shares};
  std::shared_ptr<TlsCertificates> tls;  // null: TCP is plain
  const std::unique_ptr<AuditLog> audit;
  const Callers callers{peers, tenants, *audit};
  ObjectStore store;
  supervisor::CodeCache code;
  supervisor::MemoryLedger ledger;
  supervisor::DeviceMemory memory;
  ExecutionTotals totals;
  supervisor::SharePacer pacer;
  CallMetrics calls;
  DeviceHealthTable device_health;
  DeviceTelemetry telemetry;
  collections::CollectionTable collections;  // outlives who has versions open
  ExportRegistry exports;
  std::unique_ptr<DescriptorServer> descriptors;
  supervisor::ExecutorPool executors;
  // Ends before the executors that it takes, after the sessions that ask it.
  collections::CollectionSuspension collection_suspension;
  supervisor::GroupUsers group_users;
  supervisor::MpsServers mps;
  supervisor::SharedExecutors shared_executors;
  CompilerPool compilers;
  DiskCache disk_cache;
  CompileCache cache;
  ProgramCompiler program_compiler;
  supervisor::SessionRegistry sessions;
  supervisor::IdleSuspension idle_suspension;
  const std::vector<std::string> arguments;  // of this process
  DaemonUpgrade upgrade;
  TenantAdmin tenant_admin;
  CallThreads threads{kMaxWaitingCalls};
  SessionService session_service;
  DeviceService device_service;
  CompileService compile_service;
  ObjectService object_service;
  collections::CollectionService collection_service;
  AdminService admin_service;
  ForwardedService command_service;
  ForwardedService transfer_service;
  DeviceProber prober;
  std::unique_ptr<RpcServer> server;
  MetricSources sources;
  DaemonMetrics metrics;
  StatusReport status;
  std::unique_ptr<MetricsServer> metrics_server;  // if it is asked for
  std::thread expiry;    // closes sessions whose time is up
  std::thread prestart;  // of the first compiler worker
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<KeeperWatch> keeper_watch;  // if a keeper has started it
};

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const Config& config,
                                                      Spawner& spawner,
                                                      StopEvents& events,
                                                      Successor successor,
                                                      Inheritance inheritance) {
  KeepFreedMemoryOfManyReads();
  // Kept up until the process ends: gRPC's full shutdown may wait 10 s for a
  // poller that a large write has left behind.
  grpc_init();
  StartCallbackThread();
  Sha256("");  // OpenSSL reads its configuration: not in the first call's time.
  KeptState left = SortKept(std::move(inheritance.kept));
  HOLDFAST_RETURN_IF_ERROR(MakeSocketDirectories(config));
  HOLDFAST_ASSIGN_OR_RETURN(auto audit, AuditLog::Open(config.audit_log));
  // The last of what may fail outside Begin: it ends with its object.
  HOLDFAST_ASSIGN_OR_RETURN(auto directory, DirectoryOfSockets(config, &left));
  auto parts = std::make_unique<Parts>(config, spawner, events,
                                       std::move(successor), left.names,
                                       std::move(directory), std::move(audit));
  const bool takes_over = !left.sessions.empty() || !left.versions.empty();
  const absl::Status begun =
      parts->Begin(config, std::move(left), &inheritance);
  if (!begun.ok()) {
    if (takes_over) parts->EndUnchanged(begun);
    return begun;
  }
  parts->health.Watch([server = parts->server.get()](const Health::View& view) {
    server->SetHealth(view.serving);
    for (const auto& [device, serving] : view.devices) {
      server->SetHealthOf(absl::StrCat("holdfast.device.", device), serving);
    }
  });
  if (inheritance.keeper.valid()) {
    parts->keeper_watch = std::make_unique<KeeperWatch>(
        std::move(inheritance.keeper), parts->arguments, parts->kept);
  }
  std::unique_ptr<Daemon> daemon(
      new Daemon(config, spawner, events, std::move(parts)));
  daemon->Announce();
  return daemon;
}

Daemon::Daemon(const Config& config, Spawner& spawner, StopEvents& events,
               std::unique_ptr<Parts> parts)
    : config_(config),
      spawner_(spawner),
      events_(events),
      parts_(std::move(parts)) {
  // Sessions must not see their executors end with it and give up.
  spawner_.OnGone([this] {
    parts_->EndUnchanged(SpawnerGone());
    events_.NotifyFailed();
  });
  parts_->expiry = std::thread([parts = parts_.get()] {
    while (parts->sessions.AwaitExpiry()) parts->sessions.CloseExpired();
  });
  parts_->prestart = std::thread([parts = parts_.get()] {
    const absl::Status status = parts->compilers.Prestart();
    if (status.ok()) {
      return LogInfo("compiler: ", parts->compilers.backend(), "; ",
                     parts->compilers.confinement());
    }
    LogWarning("no compiler: ", status.message());
  });
}

Daemon::~Daemon() {
  spawner_.OnGone(nullptr);
  parts_->health.Watch(nullptr);
  parts_->keeper_watch = nullptr;
  parts_->watchdog = nullptr;
  parts_->metrics_server = nullptr;
  parts_->server->Shutdown(absl::Now() + kLastCalls);
  parts_->sessions.Stop();
  parts_->expiry.join();
  parts_->prestart.join();
  LogInfo("stopped");
}

void Daemon::Announce() {
  std::string addresses = Join(parts_->server->endpoints());
  if (parts_->metrics_server != nullptr) {
    absl::StrAppend(&addresses, " ", parts_->metrics_server->url());
  }
  LogInfo("holdfastd ", kVersion, " listening on ", addresses);
  if (config_.ready_fd >= 0) {
    const std::string line = addresses + "\n";
    if (write(config_.ready_fd, line.data(), line.size()) < 0) {
      LogWarning("--ready-fd=", config_.ready_fd, " cannot be written to");
    }
    close(config_.ready_fd);
  }
  NotifyServiceManager(
      absl::StrCat("READY=1\nSTATUS=listening on ", addresses));
  // A deadlock in what every session needs is what a restart can mend.
  parts_->watchdog = std::make_unique<Watchdog>(
      Watchdog::Interval(), [this] { parts_->sessions.List(); });
}

StopEvents::Event Daemon::Await(absl::Time deadline) {
  while (true) {
    const StopEvents::Event event = events_.Wait(deadline);
    if (event != StopEvents::Event::kReload) return event;
    Reload();
    if (parts_->upgrade.IsDue()) return StopEvents::Event::kUpgrade;
  }
}

absl::Status Daemon::MakeWay() {
  if (!parts_->upgrade.prepared()) {
    const auto version = parts_->upgrade.Prepare(absl::Now() + kParkTime);
    NoteSignal("Upgrade", "SIGUSR2", version.status());
    if (!version.ok()) {
      LogError("this daemon goes on: ", version.status().message());
      return absl::OkStatus();
    }
  }
  spawner_.OnGone(nullptr);
  parts_->KeepCounters();
  return parts_->upgrade.Execute([this] {
    // First, since servers of control daemons do not end with the spawner.
    parts_->mps.End();
    spawner_.Kill();
    if (parts_->keeper_watch != nullptr) parts_->keeper_watch->PassOn();
  });
}

void Daemon::Reload() {
  const absl::Status policy = parts_->LoadPolicy(config_);
  if (policy.ok()) {
    LogInfo("SIGHUP: the policy is in force");
  } else {
    LogError("SIGHUP: the policy stays as it was: ", policy.message());
  }
  const absl::Status certificates = parts_->LoadCertificates(config_);
  if (!certificates.ok()) {
    LogError("SIGHUP: the certificates stay as they were: ",
             certificates.message());
  } else if (parts_->tls != nullptr) {
    LogInfo("SIGHUP: new connections get the certificates as they are now");
  }
  const absl::Status audit = parts_->audit->Reopen();
  if (!audit.ok()) LogError("SIGHUP: ", audit.message());
  absl::Status outcome = policy;
  outcome.Update(certificates);
  NoteSignal("Reload", "SIGHUP", outcome);
}

void Daemon::NoteSignal(const char* act, const char* signal,
                        const absl::Status& outcome) {
  parts_->audit->Act({.name = act, .client = signal, .outcome = outcome});
}

absl::Status Daemon::Run() {
  StopEvents::Event event = Await(absl::InfiniteFuture());
  while (event == StopEvents::Event::kUpgrade) {
    HOLDFAST_RETURN_IF_ERROR(MakeWay());
    event = Await(absl::InfiniteFuture());
  }
  // Sessions are to end now.
  spawner_.OnGone([this] { events_.NotifyFailed(); });
  const absl::Status failed =
      event == StopEvents::Event::kFailed ? SpawnerGone() : absl::OkStatus();
  const bool drained = event == StopEvents::Event::kSignal && Drain();
  parts_->keeper_watch = nullptr;  // Nothing is left to keep.
  NotifyServiceManager("STOPPING=1");
  parts_->sessions.Drain(nullptr);
  parts_->sessions.CloseAll(
      "the daemon is stopping",
      drained ? supervisor::Session::kStopTime : absl::ZeroDuration());
  return failed;
}

// False if it is in a hurry.
bool Daemon::Drain() {
  parts_->upgrade.Refuse(absl::FailedPreconditionError(
      "the daemon is stopping, and is not replaced any more"));
  parts_->sessions.Drain([this] { events_.NotifyDrained(); });
  const size_t open = parts_->sessions.List().size();
  if (open > 0) {
    LogInfo("draining: waiting for ", open, " sessions, at most ",
            absl::FormatDuration(config_.drain_timeout),
            "; signal again to stop at once");
  }
  NotifyServiceManager("STATUS=draining");
  const absl::Time deadline = absl::Now() + config_.drain_timeout;
  StopEvents::Event event = Await(deadline);
  // SIGUSR2, SIGHUP with a new binary, or an upgrade that was asked for before.
  while (event == StopEvents::Event::kUpgrade) {
    LogWarning("the daemon is draining, and is not replaced any more");
    event = Await(deadline);
  }
  switch (event) {
    case StopEvents::Event::kDrained:
      return true;
    case StopEvents::Event::kTimeout:
      LogWarning("drain timeout is over");
      return true;
    default:
      LogWarning("stopping at once");
      return false;
  }
}

}  // namespace holdfast::server
