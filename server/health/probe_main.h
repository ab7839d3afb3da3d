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

// The life of a probe: enter an executor's sandbox, load the driver, make a
// context on the device, run a small kernel, compare what it computed, and send
// a v1::Error on `channel`, whose code is 0 if all is well. Returns the exit
// code. No client's code ever runs in it.
int ProbeMain(Channel channel, const ProbeOptions& options);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_PROBE_MAIN_H_
