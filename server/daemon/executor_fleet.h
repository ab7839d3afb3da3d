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

// The executors of this daemon, and what it knows of the devices that they run
// on. Sessions, collections and compilers ask it; nothing else of the daemon
// starts an executor. Thread-safe.
//
//   session opens ─▶ ChooseDevices ─▶ TakeExecutor ─┬─▶ pool of executors that
//                    (works? may the tenant?)       │   wait, by device
//                                                   └─▶ pools of groups that
//                                                       share an MPS server
//   prober ─ a probe process ─▶ table of health ─▶ pools, Health of the daemon
//   executor dies unasked ─────▶ table of health: the next probe is due
//
// A device that fails its probe is in quarantine: pools keep no executor there,
// and ChooseDevices names it no more, until a probe passes.
class ExecutorFleet {
 public:
  // Starts the first executor and the first probes at once. `services` is what
  // every executor works with; the fleet adds what differs between executors.
  // All arguments must outlive it.
  ExecutorFleet(const Config& config, Spawner& spawner, Health& health,
                const supervisor::ExecutorProcess::Services& services);

  // As SessionRegistry::Options has the three.
  absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
      const v1::OpenSessionRequest& request, const Tenant& tenant,
      absl::Time deadline);
  absl::StatusOr<std::unique_ptr<supervisor::Executor>> TakeExecutor(
      const Tenant& tenant, const std::vector<uint32_t>& devices,
      absl::Time deadline);
  absl::StatusOr<std::vector<uint32_t>> FindPlaces(
      const Tenant& tenant, const supervisor::PlaceRequest& request,
      absl::Time deadline);

  // Returns the targets of compilations that name none: what device 0 runs.
  absl::StatusOr<ProgramCompiler::Defaults> CompileDefaults(
      absl::Time deadline);

  // Blocks until it is known what devices there are; an executor that cannot be
  // started is tried again until the deadline.
  absl::Status AwaitDevices(absl::Time deadline);

  // Starts executors of the binary that replaces this daemon, on each of these
  // devices that has the memory for one more context, until the deadline. Null:
  // there is none. One that fails costs nothing but its time; the next daemon
  // starts it again. Blocks.
  std::unique_ptr<SuccessorSpawner> StartAhead(
      const std::string& binary, const std::vector<uint32_t>& devices,
      absl::Time deadline);

  // True if the daemon before has started executors for this one.
  bool has_adopted() const { return adopted_ > 0; }

  // Ends what was started for groups that share an MPS server and that none of
  // these tenants is in. For a new policy.
  void Retain(const std::vector<Concurrency>& tenants);

  // Adds to a device its health and its telemetry.
  void Describe(v1::Device* device) const;

  // Blocks for up to 1 s. To be called before the process executes another
  // binary: MPS servers do not end with the spawner.
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

  // The services of an executor that begins on this device.
  supervisor::ExecutorProcess::Services ServicesOn(uint32_t device);
  StartedExecutor Start(uint32_t device);
  // The executors that the daemon before has started for this one, as this one
  // would.
  supervisor::ExecutorPool::Warm AdoptExecutors();
  // The devices that have memory for a context more, for each time that they
  // are named, and for something besides; at most kMaxAhead.
  std::vector<uint32_t> WithRoom(const std::vector<uint32_t>& devices) const;
  // An executor that is a client of its group's MPS server.
  StartedExecutor StartShared(const supervisor::SharedExecutors::Start& start);
  // An executor has ended unasked, with the devices of its session. One without
  // a session has had a context on `device` alone.
  void NoteDeath(uint32_t device, const std::vector<uint32_t>& devices);
  // Blocks for a moment at most; nullopt: not known yet.
  std::optional<uint32_t> CountDevices();
  ProbeOutcome Probe(uint32_t device);
  // All devices, with their health.
  absl::StatusOr<v1::ListDevicesResponse> ListDevices(absl::Time deadline);

  // Says that the software device stands in for a GPU, if it does.
  void CheckFallback(const v1::Driver& driver);

  const Config& config_;
  Spawner& spawner_;
  Health& health_;
  const supervisor::ExecutorProcess::Services services_;
  const Namespaces namespaces_;                     // of executors and probes
  const std::vector<std::string> arguments_;        // of an executor
  const std::vector<std::string> probe_arguments_;  // the same, as a probe
  // In the order of construction: each uses only what stands above it, but for
  // the callback of device_health_, which nothing calls before prober_ is
  // there.
  DeviceHealthTable device_health_;
  DeviceTelemetry telemetry_;
  size_t adopted_ = 0;  // executors; constant after the constructor
  supervisor::ExecutorPool executors_;
  // Ends before the executors that it takes, after the sessions that ask it.
  collections::CollectionSuspension collection_suspension_;
  supervisor::GroupUsers group_users_;
  supervisor::MpsServers mps_;
  supervisor::SharedExecutors shared_executors_;
  DeviceProber prober_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_EXECUTOR_FLEET_H_
