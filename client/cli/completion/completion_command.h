// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_

#include <string>
#include <vector>

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast completion SHELL`, which prints the shell's script.
void AddCompletionCommand(CLI::App* app, CommonOptions* options,
                          absl::Status* status);

// Returns true if the command line comes from a script: its first word is
// kCompleteCommand.
bool IsCompletion(const std::vector<std::string>& words);

// Prints the candidates for a script. `words` are the words after
// kCompleteCommand. Takes at most two seconds: a daemon that has not answered
// by then adds no names.
void PrintCandidates(const CLI::App& app,
                     const std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_
