// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CDI_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_CDI_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast cdi`, which prints the specification by which container
// engines give a container access to the daemon.
void AddCdiCommand(CLI::App* app, CommonOptions* options, absl::Status* status);

// Returns a specification of the Container Device Interface, in JSON, with one
// device, holdfast.dev/daemon=all: the daemon's sockets, which are in
// `directory`, at their own path, and its address in the environment.
// INVALID_ARGUMENT: `directory` is not absolute.
absl::StatusOr<std::string> CdiSpecification(const std::string& directory);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CDI_COMMAND_H_
