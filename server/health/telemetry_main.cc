// SPDX-License-Identifier: Apache-2.0
#include "server/health/telemetry_main.h"

#include <utility>

#include "core/base/log.h"
#include "server/health/nvml_telemetry.h"

namespace holdfast {

int TelemetryMain(Channel channel) {
  auto api = nvml::LoadNvml();
  if (!api.ok()) {
    LogInfo("no telemetry of devices: ", api.status().message());
    return 0;
  }
  const auto telemetry = NvmlTelemetry::Create(*std::move(api));
  if (!telemetry.ok()) {
    LogWarning("no telemetry of devices: ", telemetry.status().message());
    return 1;
  }
  while (channel.Send((*telemetry)->Read()).ok()) {
    (*telemetry)->AwaitEvent(kTelemetryInterval);
  }
  return 0;
}

}  // namespace holdfast
