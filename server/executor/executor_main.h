// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_
#define HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_

#include <cstddef>

#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/cuda/driver_loader.h"
#include "server/process/sandbox/policy.h"
#include "server/process/sandbox/sandbox.h"

namespace holdfast {

// The devices of an executor.
struct ExecutorDevices {
  int warm = 0;  // the device of the context before there is a session
  // The number of devices that the driver must show; 0: any.
  size_t expected = 0;
};

// The inputs of an executor.
struct ExecutorOptions {
  cuda::DriverOptions driver;
  ExecutorDevices devices = {};
  SandboxRole role = SandboxRole::kSoftwareExecutor;
  // The directory of the pipes of the MPS server that the executor uses; empty:
  // it uses no MPS server.
  std::string mps_pipe_directory = {};
  SandboxStart sandbox;
  // The time that a client may take for one message of a transfer.
  absl::Duration stall_limit = absl::Minutes(1);
};

// Runs an executor, and returns the exit code of the process. Enters the
// sandbox, loads the driver, makes a context on one device, and closes the
// sandbox. Then reports the devices to the supervisor on `channel`, and waits
// for a session. Serves the session on its socket until the supervisor ends it,
// and frees everything. Blocks until then. Beside executors, only the probe
// calls CUDA, among the roles of the daemon's binary.
int ExecutorMain(UniqueFd channel, const ExecutorOptions& options);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_
