// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_EXEC_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_EXEC_COMMAND_H_

#include <string>
#include <vector>

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast exec`, which runs an unchanged CUDA program on a daemon's
// devices. The command ends as the program does: with its exit status, or by
// the same signal. `program` has the words that TakeProgram has removed.
void AddExecCommand(CLI::App* app, CommonOptions* options,
                    const std::vector<std::string>& program,
                    absl::Status* status);

// Removes and returns the words behind `exec ... --`, which the parser of the
// command line would change. For other commands, and without `--`, removes
// nothing and returns an empty list.
std::vector<std::string> TakeProgram(std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_EXEC_COMMAND_H_
