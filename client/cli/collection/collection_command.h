// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast collection` with its subcommands. `options` and `status` are
// as for AddCommand.
void AddCollectionCommand(CLI::App* app, CommonOptions* options,
                          absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_COMMAND_H_
