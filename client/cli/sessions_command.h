// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_SESSIONS_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_SESSIONS_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `sessions`, which lists the sessions, and its subcommands, which end,
// suspend and resume a session and set its quota.
void AddSessionsCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SESSIONS_COMMAND_H_
