// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_EXECUTOR_FLEET_H_
#define HOLDFAST_SERVER_DAEMON_EXECUTOR_FLEET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/collections/collection_suspension.h"
#include "server/compile/program_compiler.h"
#include "server/config/config.h"
#include "server/health/device_health_table.h"
#include "server/health/device_probe.h"
#include "server/health/device_prober.h"
#include "server/health/device_telemetry.h"
#include "server/health/health.h"
#include "server/process/sandbox/policy.h"
#include "server/process/spawner.h"
#include "server/process/successor_spawner.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/executor_pool.h"
#include "server/supervisor/executor_process.h"
#include "server/supervisor/group_users.h"
#include "server/supervisor/mps_servers.h"
#include "server/supervisor/session_place.h"
#include "server/supervisor/shared_executors.h"
#include "server/tenants/concurrency.h"
#include "server/tenants/tenant.h"

namespace holdfast::server {

// The executors of this daemon, and the health of their devices. Sessions,
// collections and compilers use it; no other part of the daemon starts an
// executor. Thread-safe.
//
//   session opens ─▶ ChooseDevices ─▶ TakeExecutor ─┬─▶ pool of executors that
//                    (works? may the tenant?)       │   wait, by device
//                                                   └─▶ pools of groups that
//                                                       share an MPS server
//   prober ─ a probe process ─▶ table of health ─▶ pools, Health of the daemon
//   executor dies unasked ─────▶ table of health: the next probe is due
//
// A device that fails its probe is in quarantine until a probe passes: pools
// keep no warm executor there, and ChooseDevices does not choose it.
class ExecutorFleet {
 public:
  // Starts the first executor and the first probes without waiting for them.
  // `services` has the services that are common to all executors; the fleet
  // adds the others. All arguments must outlive this object.
  ExecutorFleet(const Config& config, Spawner& spawner, Health& health,
                const supervisor::ExecutorProcess::Services& services);

  // SessionRegistry::Options describes these three methods.
  absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
      const v1::OpenSessionRequest& request, const Tenant& tenant,
      absl::Time deadline);
  absl::StatusOr<std::unique_ptr<supervisor::Executor>> TakeExecutor(
      const Tenant& tenant, const std::vector<uint32_t>& devices,
      absl::Time deadline);
  absl::StatusOr<std::vector<uint32_t>> FindPlaces(
      const Tenant& tenant, const supervisor::PlaceRequest& request,
      absl::Time deadline);

  // Returns the defaults of compilations: a target and an architecture that
  // device 0 can run. Blocks until the devices are known, or the deadline.
  absl::StatusOr<ProgramCompiler::Defaults> CompileDefaults(
      absl::Time deadline);

  // Blocks until the devices are known. If an executor cannot be started, tries
  // again until the deadline, and then returns the last error.
  absl::Status AwaitDevices(absl::Time deadline);

  // Starts executors of the binary that will replace this daemon: one for each
  // entry of `devices`, as far as the device has memory for another context,
  // and at most 16. Blocks until they are ready, or the deadline. After a
  // failure it starts no more executors; the next daemon starts the rest.
  // Returns null if no executor is ready.
  std::unique_ptr<SuccessorSpawner> StartAhead(
      const std::string& binary, const std::vector<uint32_t>& devices,
      absl::Time deadline);

  // Returns true if the fleet has taken over executors that the earlier daemon
  // has started for this one.
  bool has_adopted() const { return adopted_ > 0; }

  // Ends the executors, users and MPS servers of the groups that are not among
  // the groups of these tenants. Called after a new policy.
  void Retain(const std::vector<Concurrency>& tenants);

  // Sets the health of the device, and its telemetry if there is any.
  void Describe(v1::Device* device) const;

  // Ends the MPS servers, which do not end with the spawner. Called before the
  // process executes another binary. Blocks for up to 1 s.
  void EndMpsServers() { mps_.End(); }

  supervisor::ExecutorPool& executors() { return executors_; }
  const supervisor::SharedExecutors& shared_executors() const {
    return shared_executors_;
  }
  const DeviceHealthTable& device_health() const { return device_health_; }
  const DeviceTelemetry& telemetry() const { return telemetry_; }
  collections::CollectionSuspension& collection_suspension() {
    return collection_suspension_;
  }

 private:
  using StartedExecutor =
      absl::StatusOr<std::unique_ptr<supervisor::ExecutorProcess>>;

  // Returns the services for an executor that starts on this device.
  supervisor::ExecutorProcess::Services ServicesOn(uint32_t device);
  StartedExecutor Start(uint32_t device);
  // Returns the executors that the earlier daemon has started for this one with
  // this daemon's arguments.
  supervisor::ExecutorPool::Warm AdoptExecutors();
  // Returns the entries of `devices` for which there is memory, at most 16.
  // Each entry needs memory for one context on its device, and each device
  // needs memory for one more context in reserve.
  std::vector<uint32_t> WithRoom(const std::vector<uint32_t>& devices) const;
  // Starts an executor as a client of its group's MPS server.
  StartedExecutor StartShared(const supervisor::SharedExecutors::Start& start);
  // Notes that an executor has died: its session used `devices`. An executor
  // without a session (`devices` is empty) had a context on `device` only.
  void NoteDeath(uint32_t device, const std::vector<uint32_t>& devices);
  // Returns the number of devices; blocks for a moment at most. nullopt: not
  // known yet.
  std::optional<uint32_t> CountDevices();
  ProbeOutcome Probe(uint32_t device);
  // Returns all devices with their health.
  absl::StatusOr<v1::ListDevicesResponse> ListDevices(absl::Time deadline);

  // Logs a warning and reports a missing GPU to Health if the machine has a GPU
  // but the software device is used in its place.
  void CheckFallback(const v1::Driver& driver);

  const Config& config_;
  Spawner& spawner_;
  Health& health_;
  const supervisor::ExecutorProcess::Services services_;
  const Namespaces namespaces_;                     // of executors and probes
  const std::vector<std::string> arguments_;        // of an executor
  const std::vector<std::string> probe_arguments_;  // the same, as a probe
  // In the order of construction. Each member uses only members above it,
  // except for the callback of device_health_, which is not called before
  // prober_ exists.
  DeviceHealthTable device_health_;
  DeviceTelemetry telemetry_;
  size_t adopted_ = 0;  // executors; constant after the constructor
  supervisor::ExecutorPool executors_;
  // Ends before the executors that it takes, and after the sessions that use
  // it.
  collections::CollectionSuspension collection_suspension_;
  supervisor::GroupUsers group_users_;
  supervisor::MpsServers mps_;
  supervisor::SharedExecutors shared_executors_;
  DeviceProber prober_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_EXECUTOR_FLEET_H_
