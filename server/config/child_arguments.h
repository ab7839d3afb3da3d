// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_CHILD_ARGUMENTS_H_
#define HOLDFAST_SERVER_CONFIG_CHILD_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace holdfast::server {

// The command lines of the processes that the daemon starts. They run the
// daemon's own binary in another role; main.cc reads the arguments.

// Returns true if users other than the daemon's own may connect.
bool ServesOthers(const Config& config);

// Returns the arguments of an executor, or of a probe, which uses the same
// driver in the same sandbox. `role` is "executor" or "probe". The arguments
// require the sandbox if the configuration does, or if other users' kernels run
// as native code.
std::vector<std::string> ExecutorArguments(const Config& config,
                                           const char* role);

// Returns `arguments` with the flag for the device of an executor's first
// context, or of a probe.
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
