// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_SNAPSHOT_H_
#define HOLDFAST_CLIENT_CLI_TOP_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection/daemon.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::cli {

// The state of a daemon at one moment, as far as this caller may see it.
struct TopSnapshot {
  absl::Time time;
  std::string address;
  v1::GetServerInfoResponse info;
  v1::ListDevicesResponse devices;
  v1::ListSessionsResponse sessions;
};

absl::StatusOr<TopSnapshot> TakeSnapshot(Daemon& daemon);

// The rates at which sessions copied and computed between two snapshots; copies
// in bytes a second.
struct CopyRates {
  std::map<std::string, double> by_session;  // by id
  std::map<v1::CopyPath, double> by_path;
  double all = 0;
  // Seconds of GPU time a second, by session; above 1 on several devices.
  std::map<std::string, double> gpu_share;
};

// Returns the GPU time of a session on all its devices, in seconds.
double GpuSeconds(const v1::SessionUsage& usage);

// Computes the rates. A session that is in only one of the snapshots has no
// rate, because the time for its bytes is not known.
CopyRates RatesBetween(const TopSnapshot& before, const TopSnapshot& after);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_SNAPSHOT_H_
