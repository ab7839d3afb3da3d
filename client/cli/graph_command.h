// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_GRAPH_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_GRAPH_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast graph run` and `holdfast graph dot`.
void AddGraphCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_GRAPH_COMMAND_H_
