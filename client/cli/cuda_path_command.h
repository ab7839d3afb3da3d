// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast cuda-path`, which prints a folder for LD_LIBRARY_PATH.
// Programs then load Holdfast's CUDA driver from this folder.
void AddCudaPathCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status);

// Returns a folder that contains the software driver under the name
// libcuda.so.1. `here` is the folder of the calling program. Packages install
// such a folder, `cpu`, beside the driver. If it does not exist, this function
// makes a folder of links in the folder `cache`. NOT_FOUND: there is no
// software driver.
absl::StatusOr<std::string> FindCpuDriver(const std::string& here,
                                          const std::string& cache);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
