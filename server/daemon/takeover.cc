// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/takeover.h"

#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "holdfast/internal/restart.pb.h"
#include "server/restart/restore.h"

namespace holdfast::server {
namespace {

// The wait for devices whose memory the daemon before had.
constexpr absl::Duration kRestoredDevices = absl::Minutes(2);

}  // namespace

absl::StatusOr<std::unique_ptr<RuntimeDirectory>> TakeRuntimeDirectory(
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

absl::Status TakeOver(KeptState left, DaemonParts& parts) {
  // Memory is charged to devices, which executors find.
  if (!left.sessions.empty() || !left.tenants.empty()) {
    HOLDFAST_RETURN_IF_ERROR(
        parts.fleet.AwaitDevices(absl::Now() + kRestoredDevices));
  }
  Restore restore({parts.tenants,
                   parts.sessions,
                   {parts.store, parts.ledger, parts.exports, parts.collections,
                    parts.memory, parts.kept}});
  if (left.daemon.paused()) {
    LogWarning(
        "an operator has asked the daemon before to drain: no new "
        "sessions until `holdfast admin drain --stop`");
    parts.sessions.SetPaused(true);
  }
  parts.totals.Add(left.counters.daemon());
  restore.Run(std::move(left));
  if (restore.sessions() + restore.versions() > 0) {
    LogInfo("taken over from the daemon before: ", restore.sessions(),
            " sessions, ", restore.versions(), " versions of collections");
  }
  return absl::OkStatus();
}

void KeepCounters(DaemonParts& parts) {
  internal::CountersRecord counters;
  *counters.mutable_daemon() = parts.totals.Record();
  parts.tenants.Record(&counters);
  parts.sessions.Record(&counters);
  parts.kept_counters = parts.kept.KeepRecord({"counters", {}}, counters);
}

void EndUnchanged(const DaemonParts& parts, const absl::Status& reason) {
  if (!parts.kept.outlives_kill()) return;
  LogError("stopping: ", reason.message(),
           "; sessions and collections wait for the next daemon");
  std::_Exit(EXIT_FAILURE);
}

}  // namespace holdfast::server
