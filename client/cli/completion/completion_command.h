// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_

#include <string>
#include <vector>

#include "client/cli/command.h"

namespace holdfast::cli {

// `holdfast completion SHELL`: prints the shell's script.
void AddCompletionCommand(CLI::App* app, CommonOptions* options,
                          absl::Status* status);

// Whether the scripts ask: the first word is kCompleteCommand.
bool IsCompletion(const std::vector<std::string>& words);

// Answers them, for the words behind kCompleteCommand, within two seconds: a
// daemon that does not answer by then is none.
void PrintCandidates(const CLI::App& app,
                     const std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_COMPLETION_COMMAND_H_
