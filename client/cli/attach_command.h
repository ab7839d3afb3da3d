// SPDX-License-Identifier: Apache-2.0
//
// Adds `holdfast attach SESSION`, which waits for the work of a detached
// session, lists its buffers and writes its outputs to files.
#ifndef HOLDFAST_CLIENT_CLI_ATTACH_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_ATTACH_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

void AddAttachCommand(CLI::App* app, CommonOptions* options,
                      absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ATTACH_COMMAND_H_
