// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_
#define HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_

#include "absl/time/time.h"
#include "server/channel/channel.h"

namespace holdfast {

// How often NVML is asked.
inline constexpr absl::Duration kTelemetryInterval = absl::Seconds(5);

// The life of the process that asks NVML (`--role=telemetry`): sends a
// v1::ListDevicesResponse on `channel` every kTelemetryInterval, and at each
// Xid event, whose devices have nothing but `uuid` and `telemetry`. Returns the
// exit code: 0 where there is no NVML. It is no supervisor's thread, since a
// call into a GPU's driver can hang for ever, and then its process cannot end.
int TelemetryMain(Channel channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_TELEMETRY_MAIN_H_
