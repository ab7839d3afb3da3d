// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/daemon.h"

#include <grpc/grpc.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/malloc_tuning.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "server/config/runtime_directory.h"
#include "server/config/version.h"
#include "server/daemon/settings.h"
#include "server/daemon/takeover.h"
#include "server/rpc/callback_thread.h"
#include "server/service_manager/notify.h"
#include "server/supervisor/session.h"
#include "server/tenants/audit_log.h"

namespace holdfast::server {
namespace {

// With --require-sandbox, the wait for an executor's report of its confinement.
constexpr absl::Duration kFirstExecutor = absl::Minutes(2);

// The time for work to end before an upgrade that a signal asks for.
constexpr absl::Duration kParkTime = absl::Seconds(30);

// The time for sessions to recover before executors of the daemon before, which
// are stopped, end in any case.
constexpr absl::Duration kLeavingTime = absl::Seconds(30);

absl::Status SpawnerGone() {
  return absl::UnavailableError(
      "the spawner process has died, no executor can be started any more");
}

// Sets up the libraries of this process. REQUIRES: Called once.
void PrepareProcess() {
  KeepFreedMemoryOfManyReads();
  // Kept up until the process ends: gRPC's full shutdown may wait 10 s for a
  // poller that a large write has left behind.
  grpc_init();
  StartCallbackThread();
  Sha256("");  // OpenSSL reads its configuration: not in the first call's time.
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const Config& config,
                                                      Spawner& spawner,
                                                      StopEvents& events,
                                                      Successor successor,
                                                      Inheritance inheritance) {
  PrepareProcess();
  KeptState left = SortKept(std::move(inheritance.kept));
  for (const KeptDescriptor& listener : inheritance.listeners) {
    left.names.push_back(listener.name.ToString());
  }
  HOLDFAST_RETURN_IF_ERROR(MakeSocketDirectories(config));
  HOLDFAST_ASSIGN_OR_RETURN(auto audit, AuditLog::Open(config.audit_log));
  // The last of what may fail outside Begin: it ends with its object.
  HOLDFAST_ASSIGN_OR_RETURN(auto directory,
                            TakeRuntimeDirectory(config, &left));
  auto parts = std::make_unique<DaemonParts>(
      config, spawner, std::move(successor), left.names, std::move(directory),
      std::move(audit));
  // Its executors have device memory that new ones may lack.
  if (!parts->fleet.has_adopted()) inheritance.leaving.End();
  auto servers = std::make_unique<DaemonServers>(config, events, *parts);
  // A daemon that was executed in place is watched already, and may wait for
  // devices for longer than that allows.
  auto watchdog = std::make_unique<Watchdog>(Watchdog::Interval(), [] {});
  const bool takes_over = !left.sessions.empty() || !left.versions.empty();
  const absl::Status begun =
      Begin(config, std::move(left), &inheritance, *parts, *servers);
  if (!begun.ok()) {
    if (takes_over) EndUnchanged(*parts, begun);
    return begun;
  }
  std::unique_ptr<Daemon> daemon(new Daemon(
      config, spawner, events, std::move(parts), std::move(servers)));
  daemon->watchdog_ = std::move(watchdog);
  daemon->StartWatching(std::move(inheritance.keeper));
  daemon->EndLeaving(std::move(inheritance.leaving));
  daemon->Announce();
  return daemon;
}

absl::Status Daemon::Begin(const Config& config, KeptState left,
                           Inheritance* inheritance, DaemonParts& parts,
                           DaemonServers& servers) {
  HOLDFAST_RETURN_IF_ERROR(LoadSettings(config, parts));
  HOLDFAST_RETURN_IF_ERROR(servers.ServeDescriptors());
  if (config.require_sandbox) {
    const absl::Time deadline = absl::Now() + kFirstExecutor;
    HOLDFAST_RETURN_IF_ERROR(
        parts.fleet.executors().Devices(deadline).status());
  }
  HOLDFAST_RETURN_IF_ERROR(TakeOver(std::move(left), parts));
  HOLDFAST_RETURN_IF_ERROR(servers.Serve(inheritance));
  parts.kept.Settle();
  if (config.suspend_idle > absl::ZeroDuration()) parts.idle_suspension.Start();
  return absl::OkStatus();
}

Daemon::Daemon(const Config& config, Spawner& spawner, StopEvents& events,
               std::unique_ptr<DaemonParts> parts,
               std::unique_ptr<DaemonServers> servers)
    : config_(config),
      spawner_(spawner),
      events_(events),
      parts_(std::move(parts)),
      servers_(std::move(servers)) {}

void Daemon::StartWatching(UniqueFd keeper) {
  parts_->health.Watch(
      [this](const Health::View& view) { servers_->SetHealth(view); });
  if (keeper.valid()) {
    keeper_watch_ = std::make_unique<KeeperWatch>(
        std::move(keeper), parts_->arguments, parts_->kept);
  }
  // Sessions must not see their executors end with it and give up.
  spawner_.OnGone([this] {
    EndUnchanged(*parts_, SpawnerGone());
    events_.NotifyFailed();
  });
  expiry_ = std::thread([this] {
    while (parts_->sessions.AwaitExpiry()) parts_->sessions.CloseExpired();
  });
  prestart_ = std::thread([this] { parts_->compilation.Prestart(); });
}

void Daemon::EndLeaving(LeavingSpawner leaving) {
  if (leaving.pid() == 0) return;
  leaving_ = std::thread([this, spawner = std::move(leaving)]() mutable {
    parts_->sessions.AwaitRecovered(absl::Now() + kLeavingTime);
    spawner.End();
  });
}

Daemon::~Daemon() {
  spawner_.OnGone(nullptr);
  parts_->health.Watch(nullptr);
  keeper_watch_ = nullptr;
  watchdog_ = nullptr;
  servers_->Shutdown();
  parts_->sessions.Stop();
  expiry_.join();
  prestart_.join();
  if (leaving_.joinable()) leaving_.join();
  LogInfo("stopped");
}

void Daemon::Announce() {
  const std::string addresses = servers_->addresses();
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
  watchdog_ = std::make_unique<Watchdog>(Watchdog::Interval(),
                                         [this] { parts_->sessions.List(); });
}

StopEvents::Event Daemon::Await(absl::Time deadline) {
  while (true) {
    const StopEvents::Event event = events_.Wait(deadline);
    if (event != StopEvents::Event::kReload) return event;
    NoteSignal("Reload", "SIGHUP", ReloadSettings(config_, *parts_));
    if (parts_->upgrade.IsDue()) return StopEvents::Event::kUpgrade;
  }
}

void Daemon::NoteSignal(const char* act, const char* signal,
                        const absl::Status& outcome) {
  parts_->audit->Act({.name = act, .client = signal, .outcome = outcome});
}

absl::Status Daemon::Upgrade() {
  if (!parts_->upgrade.prepared()) {
    const auto version = parts_->upgrade.Prepare(absl::Now() + kParkTime);
    NoteSignal("Upgrade", "SIGUSR2", version.status());
    if (!version.ok()) {
      LogError("this daemon goes on: ", version.status().message());
      return absl::OkStatus();
    }
  }
  // Every session is parked, so that none recovers.
  if (leaving_.joinable()) leaving_.join();
  spawner_.OnGone(nullptr);
  KeepCounters(*parts_);
  return parts_->upgrade.Execute([this](bool leave) {
    // First, since servers of control daemons do not end with the spawner.
    parts_->fleet.EndMpsServers();
    LeavingSpawner leaving;
    if (leave) {
      leaving = spawner_.LeaveBehind();
    } else {
      spawner_.Kill();
    }
    if (keeper_watch_ != nullptr) keeper_watch_->PassOn();
    return leaving;
  });
}

absl::Status Daemon::Run() {
  StopEvents::Event event = Await(absl::InfiniteFuture());
  while (event == StopEvents::Event::kUpgrade) {
    HOLDFAST_RETURN_IF_ERROR(Upgrade());
    event = Await(absl::InfiniteFuture());
  }
  // Sessions are to end now.
  spawner_.OnGone([this] { events_.NotifyFailed(); });
  const absl::Status failed =
      event == StopEvents::Event::kFailed ? SpawnerGone() : absl::OkStatus();
  const bool drained = event == StopEvents::Event::kSignal && Drain();
  keeper_watch_ = nullptr;  // Nothing is left to keep.
  NotifyServiceManager("STOPPING=1");
  parts_->sessions.Drain(nullptr);
  parts_->sessions.CloseAll(
      "the daemon is stopping",
      drained ? supervisor::Session::kStopTime : absl::ZeroDuration());
  return failed;
}

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
