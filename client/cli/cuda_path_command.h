// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast cuda-path`, which prints a folder for LD_LIBRARY_PATH.
// Programs then load Holdfast's CUDA driver from this folder.
void AddCudaPathCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
