// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_LINK_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_LINK_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast link`, which links objects to a cubin, PTX or LTO IR.
void AddLinkCommand(CLI::App* app, CommonOptions* options,
                    absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_LINK_COMMAND_H_
