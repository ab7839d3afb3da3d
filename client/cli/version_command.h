// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_VERSION_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_VERSION_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast version`, which prints the versions of the client and of its
// daemon.
void AddVersionCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_VERSION_COMMAND_H_
