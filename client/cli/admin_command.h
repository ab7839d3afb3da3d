// SPDX-License-Identifier: Apache-2.0
//
// Adds `holdfast admin`, whose subcommands only the daemon's operators may use.
#ifndef HOLDFAST_CLIENT_CLI_ADMIN_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_ADMIN_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

void AddAdminCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ADMIN_COMMAND_H_
