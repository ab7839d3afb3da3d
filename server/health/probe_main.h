// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_PROBE_MAIN_H_
#define HOLDFAST_SERVER_HEALTH_PROBE_MAIN_H_

#include "core/cuda/driver_loader.h"
#include "server/channel/channel.h"
#include "server/process/sandbox/policy.h"
#include "server/process/sandbox/sandbox.h"

namespace holdfast {

struct ProbeOptions {
  cuda::DriverOptions driver;
  int device = 0;
  SandboxRole role = SandboxRole::kSoftwareExecutor;
  SandboxStart sandbox;
};

// Runs the probe process: enters an executor's sandbox, loads the driver, makes
// a context on the device, runs a small kernel, and checks its results. Sends
// the outcome on `channel` as a v1::Error, with code 0 on success. Returns the
// exit code of the process. Never runs clients' code.
int ProbeMain(Channel channel, const ProbeOptions& options);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_PROBE_MAIN_H_
