// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_FLAGS_H_
#define HOLDFAST_SERVER_CONFIG_FLAGS_H_

#include <optional>

#include "server/config/config.h"

namespace holdfast::server {

// Reads the command line and the configuration file that it may name. Prints
// the help or the version if the command line asks for it, or an error if an
// option is wrong; then returns nullopt, and sets `exit_code` to the code that
// the process must exit with.
std::optional<Config> ParseFlags(int argc, char** argv, int* exit_code);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_FLAGS_H_
