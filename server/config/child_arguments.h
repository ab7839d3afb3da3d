// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_CHILD_ARGUMENTS_H_
#define HOLDFAST_SERVER_CONFIG_CHILD_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace holdfast::server {

// The command lines of the processes that the daemon starts, which are its own
// binary in another role: main.cc reads them.

// Returns whether others than the daemon's own user may connect.
bool ServesOthers(const Config& config);

// `role` is "executor", or "probe": the same driver in the same sandbox. The
// sandbox is required if the operator says so, and where strangers' kernels run
// as native code.
std::vector<std::string> ExecutorArguments(const Config& config,
                                           const char* role);

// Adds the flag for the device that an executor makes a context on before it
// has a session, or that a probe looks at.
std::vector<std::string> OnDevice(std::vector<std::string> arguments,
                                  uint32_t device);

std::vector<std::string> CompilerArguments(const Config& config);

// `control_daemon` is the path of nvidia-cuda-mps-control.
std::vector<std::string> MpsControlArguments(const Config& config,
                                             const std::string& control_daemon);

std::vector<std::string> TelemetryArguments(const Config& config);

// Returns the arguments of the spawner that an upgrade starts for the next
// daemon. A daemon's own spawner is forked and has no arguments.
std::vector<std::string> SpawnerArguments(const Config& config);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_CHILD_ARGUMENTS_H_
