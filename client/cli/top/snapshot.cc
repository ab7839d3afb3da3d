// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/snapshot.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

using BytesByPath = std::map<v1::CopyPath, uint64_t>;

BytesByPath BytesOf(const v1::SessionInfo& session) {
  BytesByPath bytes;
  for (const v1::CopyStatistics& copies : session.copies()) {
    bytes[copies.path()] += copies.bytes();
  }
  return bytes;
}

// By session.
std::map<std::string, double> GpuShares(const TopSnapshot& before,
                                        const TopSnapshot& after) {
  std::map<std::string, double> earlier;
  for (const v1::SessionInfo& session : before.sessions.sessions()) {
    earlier[session.session_id()] = GpuSeconds(session.usage());
  }
  const double seconds = absl::ToDoubleSeconds(after.time - before.time);
  std::map<std::string, double> shares;
  for (const v1::SessionInfo& session : after.sessions.sessions()) {
    const auto found = earlier.find(session.session_id());
    if (found == earlier.end()) continue;
    const double spent = GpuSeconds(session.usage()) - found->second;
    shares[session.session_id()] = std::max(0.0, spent) / seconds;
  }
  return shares;
}

}  // namespace

double GpuSeconds(const v1::SessionUsage& usage) {
  double seconds = 0;
  for (const v1::DeviceTime& time : usage.gpu_time()) {
    seconds +=
        static_cast<double>(time.time().seconds()) + time.time().nanos() * 1e-9;
  }
  return seconds;
}

absl::StatusOr<TopSnapshot> TakeSnapshot(Daemon& daemon) {
  TopSnapshot snapshot;
  snapshot.address = daemon.address().text;
  HOLDFAST_ASSIGN_OR_RETURN(snapshot.info, daemon.Info());
  HOLDFAST_ASSIGN_OR_RETURN(snapshot.devices, daemon.Devices());
  HOLDFAST_ASSIGN_OR_RETURN(snapshot.sessions, daemon.ListSessions());
  snapshot.time = absl::Now();
  return snapshot;
}

CopyRates RatesBetween(const TopSnapshot& before, const TopSnapshot& after) {
  CopyRates rates;
  const double seconds = absl::ToDoubleSeconds(after.time - before.time);
  if (seconds <= 0) return rates;
  rates.gpu_share = GpuShares(before, after);
  std::map<std::string, BytesByPath> earlier;
  for (const v1::SessionInfo& session : before.sessions.sessions()) {
    earlier[session.session_id()] = BytesOf(session);
  }
  for (const v1::SessionInfo& session : after.sessions.sessions()) {
    const auto found = earlier.find(session.session_id());
    if (found == earlier.end()) continue;
    double& of_session = rates.by_session[session.session_id()];
    for (const auto& [path, bytes] : BytesOf(session)) {
      // A session's executor that was replaced counts from 0 again.
      const uint64_t then = found->second[path];
      const double rate =
          bytes < then ? 0 : static_cast<double>(bytes - then) / seconds;
      of_session += rate;
      rates.by_path[path] += rate;
      rates.all += rate;
    }
  }
  return rates;
}

}  // namespace holdfast::cli
