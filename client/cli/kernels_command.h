// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_KERNELS_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_KERNELS_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast kernels`, which lists the kernels of an object or a source.
void AddKernelsCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_KERNELS_COMMAND_H_
