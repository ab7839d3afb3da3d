// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/executor_fleet.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/config/child_arguments.h"
#include "server/health/pci_gpu.h"
#include "server/supervisor/device_choice.h"

namespace holdfast::server {
namespace {

// Device memory of one context, with room to spare: measured are 500 to 600 MiB
// on an H200.
constexpr uint64_t kContextBytes = uint64_t{1} << 30;

// Executors that are started for the next daemon at most.
constexpr size_t kMaxAhead = 16;

// How often it is asked what devices there are, until it is known.
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);

void LogDevices(const v1::ListDevicesResponse& list) {
  const v1::Driver& driver = list.driver();
  const char* const kind =
      driver.kind() == v1::Driver::KIND_SOFTWARE ? "software" : "cuda";
  LogInfo("driver: ", kind, " ", driver.version() / 1000, ".",
          driver.version() % 1000 / 10, " (", driver.path(), ")");
  for (const v1::Device& device : list.devices()) {
    LogInfo("device ", device.ordinal(), ": ", device.name());
  }
}

bool OnGpus(const Config& config) {
  return ExecutorRole(config.device) == SandboxRole::kCudaExecutor;
}

// Directories in which programs are looked for.
std::string SearchPath() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

supervisor::MpsServers::Options MpsOptions(const Config& config,
                                           Spawner& spawner) {
  return {
      .on_gpus = OnGpus(config),
      .control_daemon = supervisor::MpsServers::FindControlDaemon(SearchPath()),
      .start = [&spawner, &config](
                   const std::string& control_daemon,
                   const std::vector<std::string>& environment) {
        return spawner.Spawn(MpsControlArguments(config, control_daemon),
                             {.environment = environment});
      }};
}

// Null: NVML is not asked.
DeviceTelemetry::Start TelemetryStart(const Config& config, Spawner& spawner) {
  if (config.telemetry == "off" ||
      (config.telemetry == "auto" && !OnGpus(config))) {
    return nullptr;
  }
  return [&spawner, arguments = TelemetryArguments(config)] {
    return spawner.Spawn(arguments);
  };
}

}  // namespace

ExecutorFleet::ExecutorFleet(
    const Config& config, Spawner& spawner, Health& health,
    const supervisor::ExecutorProcess::Services& services)
    : config_(config),
      spawner_(spawner),
      health_(health),
      services_(services),
      namespaces_(NamespacesOf(ExecutorRole(config.device))),
      arguments_(ExecutorArguments(config, "executor")),
      probe_arguments_(ExecutorArguments(config, "probe")),
      device_health_({.interval = config.probe_interval,
                      .on_change =
                          [this, &health](uint32_t device, bool ready) {
                            executors_.SetUsable(device, ready);
                            shared_executors_.SetUsable(device, ready);
                            health.SetDevice(device, ready);
                          }}),
      telemetry_(TelemetryStart(config, spawner)),
      executors_(
          {.start = [this](uint32_t device) { return Start(device); },
           .warm = config.warm_executors,
           .on_health =
               [&health](bool startable) { health.SetExecutors(startable); }},
          AdoptExecutors()),
      collection_suspension_(services.collections, services.ledger,
                             {.take =
                                  [this](uint32_t device, absl::Time deadline) {
                                    return executors_.TakeProcess({device},
                                                                  deadline);
                                  },
                              .directory = config.suspend_directory}),
      group_users_([&spawner] { return spawner.TakeUser(); }),
      mps_(MpsOptions(config, spawner)),
      shared_executors_(
          mps_,
          [this](const supervisor::SharedExecutors::Start& start) {
            return StartShared(start);
          },
          config.warm_executors),
      prober_(device_health_,
              {.count_devices = [this] { return CountDevices(); },
               .probe = [this](uint32_t device) { return Probe(device); }}) {}

supervisor::ExecutorProcess::Services ExecutorFleet::ServicesOn(
    uint32_t device) {
  supervisor::ExecutorProcess::Services services = services_;
  services.died = [this, device](const std::vector<uint32_t>& devices) {
    NoteDeath(device, devices);
  };
  services.suspension = &collection_suspension_;
  return services;
}

ExecutorFleet::StartedExecutor ExecutorFleet::Start(uint32_t device) {
  return supervisor::ExecutorProcess::Start(
      spawner_, OnDevice(arguments_, device), {.namespaces = namespaces_},
      ServicesOn(device));
}

supervisor::ExecutorPool::Warm ExecutorFleet::AdoptExecutors() {
  supervisor::ExecutorPool::Warm executors;
  for (Spawner::Adopted& adopted : spawner_.TakeAdopted()) {
    const uint32_t device = adopted.record.device();
    const auto& arguments = adopted.record.arguments();
    // Flags have changed: it ends here.
    if (OnDevice(arguments_, device) !=
        std::vector<std::string>(arguments.begin(), arguments.end())) {
      continue;
    }
    auto executor = supervisor::ExecutorProcess::Adopt(
        std::move(adopted.process), ServicesOn(device));
    if (executor.ok()) executors.push_back({*std::move(executor), device});
  }
  adopted_ = executors.size();
  if (!executors.empty()) {
    LogInfo("executors that the daemon before has started: ", executors.size());
  }
  return executors;
}

std::vector<uint32_t> ExecutorFleet::WithRoom(
    const std::vector<uint32_t>& devices) const {
  std::vector<uint32_t> with_room;
  std::map<uint32_t, uint64_t> needed;
  for (const uint32_t device : devices) {
    const uint64_t free = services_.memory.Free(device).value_or(0);
    if (with_room.size() == kMaxAhead) break;
    if (free < needed[device] + 2 * kContextBytes) continue;
    needed[device] += kContextBytes;
    with_room.push_back(device);
  }
  return with_room;
}

std::unique_ptr<SuccessorSpawner> ExecutorFleet::StartAhead(
    const std::string& binary, const std::vector<uint32_t>& devices,
    absl::Time deadline) {
  const std::vector<uint32_t> with_room = WithRoom(devices);
  if (with_room.empty()) return nullptr;
  auto spawner = SuccessorSpawner::Start(binary, SpawnerArguments(config_));
  absl::Status status = spawner.status();
  for (size_t i = 0; i < with_room.size() && status.ok(); ++i) {
    const auto user = spawner_.TakeUser();
    if (!spawner_.MayUse(*user)) break;
    status =
        (*spawner)->StartChild({.arguments = OnDevice(arguments_, with_room[i]),
                                .namespaces = namespaces_,
                                .user = user,
                                .device = with_room[i]},
                               deadline);
  }
  if (!status.ok()) {
    LogWarning(
        "an executor of ", binary,
        " was not ready ahead; the next daemon starts it: ", status.message());
  }
  const size_t ready = spawner.ok() ? (*spawner)->ready() : 0;
  LogInfo("executors of the next daemon: ", ready, " of ", devices.size(),
          " are ready");
  return ready > 0 ? *std::move(spawner) : nullptr;
}

ExecutorFleet::StartedExecutor ExecutorFleet::StartShared(
    const supervisor::SharedExecutors::Start& start) {
  std::vector<std::string> arguments = arguments_;
  arguments.push_back(absl::StrCat("--mps-pipe-directory=", *start.pipes));
  supervisor::GroupUsers::Lease user = group_users_.Of(start.group);
  supervisor::ExecutorProcess::Services services = ServicesOn(start.device);
  services.shares_server = true;
  // Its control daemon runs at least as long as it does, and nobody else has
  // the server's user before the pipes are gone.
  struct Holds {
    supervisor::GroupUsers::Lease user;  // ends last
    supervisor::MpsServers::Pipes pipes;
  };
  services.died = [died = std::move(services.died),
                   holds = Holds{user, start.pipes}](
                      const std::vector<uint32_t>& devices) { died(devices); };
  return supervisor::ExecutorProcess::Start(
      spawner_, OnDevice(std::move(arguments), start.device),
      {.namespaces = namespaces_,
       .environment = start.environment,
       .user = std::move(user)},
      services);
}

void ExecutorFleet::NoteDeath(uint32_t device,
                              const std::vector<uint32_t>& devices) {
  if (devices.empty()) device_health_.NoteFault(device);
  for (const uint32_t used : devices) device_health_.NoteFault(used);
}

std::optional<uint32_t> ExecutorFleet::CountDevices() {
  const auto devices = executors_.Devices(absl::Now() + kAskAgain);
  if (devices.ok()) {
    LogDevices((*devices)->List(services_.memory));
    CheckFallback((*devices)->driver());
    return (*devices)->size();
  }
  absl::SleepFor(kAskAgain);
  return std::nullopt;
}

void ExecutorFleet::CheckFallback(const v1::Driver& driver) {
  if (config_.device != "auto" || driver.kind() != v1::Driver::KIND_SOFTWARE) {
    return;
  }
  const std::optional<std::string> gpu = FindPciGpu();
  if (!gpu.has_value()) return;
  LogWarning(
      "this machine has a GPU of NVIDIA's at ", *gpu,
      ", which no driver serves: the software device stands in for it, and the "
      "daemon is not ready (/readyz, gRPC health). `nvidia-smi` tells what is "
      "missing; --device=cpu says that the software device is meant");
  health_.SetGpuMissing();
}

ProbeOutcome ExecutorFleet::Probe(uint32_t device) {
  return ProbeDevice(
      [&] {
        return spawner_.Spawn(OnDevice(probe_arguments_, device), namespaces_);
      },
      config_.probe_timeout, [this] { return device_health_.stopped(); });
}

absl::StatusOr<v1::ListDevicesResponse> ExecutorFleet::ListDevices(
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, executors_.Devices(deadline));
  v1::ListDevicesResponse list = all->List(services_.memory);
  for (v1::Device& device : *list.mutable_devices()) {
    *device.mutable_health() = device_health_.Get(device.ordinal());
  }
  return list;
}

absl::StatusOr<std::vector<uint32_t>> ExecutorFleet::ChooseDevices(
    const v1::OpenSessionRequest& request, const Tenant& tenant,
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, ListDevices(deadline));
  HOLDFAST_ASSIGN_OR_RETURN(const auto devices,
                            supervisor::DevicesOfTenant(all, tenant.devices()));
  return supervisor::ChooseDevices(request, devices);
}

absl::StatusOr<std::unique_ptr<supervisor::Executor>>
ExecutorFleet::TakeExecutor(const Tenant& tenant,
                            const std::vector<uint32_t>& devices,
                            absl::Time deadline) {
  const Concurrency concurrency = tenant.concurrency();
  if (!concurrency.shared()) return executors_.Take(devices, deadline);
  return shared_executors_.Take(concurrency, devices, deadline);
}

absl::StatusOr<std::vector<uint32_t>> ExecutorFleet::FindPlaces(
    const Tenant& tenant, const supervisor::PlaceRequest& request,
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, ListDevices(deadline));
  return supervisor::FindPlaces(request, all, tenant.devices());
}

absl::StatusOr<ProgramCompiler::Defaults> ExecutorFleet::CompileDefaults(
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto devices, executors_.Devices(deadline));
  return ProgramCompiler::Defaults{devices->DefaultTarget(),
                                   devices->DefaultArch(),
                                   devices->driver().version()};
}

absl::Status ExecutorFleet::AwaitDevices(absl::Time deadline) {
  const absl::Time end = SteadyNow() + (deadline - absl::Now());
  while (true) {
    const absl::Status found = executors_.Devices(deadline).status();
    if (found.ok() || SteadyNow() >= end) return found;
    absl::SleepFor(kAskAgain);
  }
}

void ExecutorFleet::Retain(const std::vector<Concurrency>& tenants) {
  shared_executors_.Retain(tenants);
  mps_.Retain(tenants);
  group_users_.Retain(tenants);
}

void ExecutorFleet::Describe(v1::Device* device) const {
  *device->mutable_health() = device_health_.Get(device->ordinal());
  const auto figures = telemetry_.Get(device->uuid());
  if (figures.has_value()) *device->mutable_telemetry() = *figures;
}

}  // namespace holdfast::server
