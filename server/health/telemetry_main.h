// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_
#define HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_

#include "absl/time/time.h"
#include "server/channel/channel.h"

namespace holdfast {

// The time between two reports.
inline constexpr absl::Duration kTelemetryInterval = absl::Seconds(5);

// Runs the telemetry process (`--role=telemetry`): sends a
// v1::ListDevicesResponse on `channel` every kTelemetryInterval and at each Xid
// event. The devices in it have only `uuid` and `telemetry`. Returns the exit
// code of the process; 0 if NVML is missing. This is a process of its own,
// because a call into a GPU's driver can hang for ever, and the supervisor
// could then not end.
int TelemetryMain(Channel channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_
