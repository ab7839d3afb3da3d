// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CACHE_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_CACHE_COMMAND_H_

#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `cache stats`, `cache list` and `cache clear`.
void AddCacheCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CACHE_COMMAND_H_
