// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_FLAGS_H_
#define HOLDFAST_SERVER_CONFIG_FLAGS_H_

#include <optional>

#include "server/config/config.h"

namespace holdfast::server {

// Reads the command line and the configuration file that it may name. Prints
// the help or the version if the command line has such an option, or an error
// if an option is wrong. It then returns nullopt, and sets `exit_code` to the
// exit code of the process.
std::optional<Config> ParseFlags(int argc, char** argv, int* exit_code);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_FLAGS_H_
