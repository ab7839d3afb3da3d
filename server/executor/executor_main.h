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

// The inputs of an executor.
struct ExecutorDevices {
  int warm = 0;         // where to make a context before there is a session
  size_t expected = 0;  // how many devices the driver must show; 0: any
};

struct ExecutorOptions {
  cuda::DriverOptions driver;
  ExecutorDevices devices = {};
  SandboxRole role = SandboxRole::kSoftwareExecutor;
  // The pipes of the MPS server that it shares; empty: it shares none.
  std::string mps_pipe_directory = {};
  SandboxStart sandbox;
  // The time that a client may take for one message of a transfer.
  absl::Duration stall_limit = absl::Minutes(1);
};

// The executor's life, from start to exit code: enter the sandbox, load the
// driver, make a context on one device, close the sandbox, tell the supervisor
// on `channel` what there is, wait for a session, serve it on its socket until
// told to stop, free everything. The only role of the daemon's binary in which
// CUDA is called.
int ExecutorMain(UniqueFd channel, const ExecutorOptions& options);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_
