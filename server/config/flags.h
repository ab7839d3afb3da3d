// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_FLAGS_H_
#define HOLDFAST_SERVER_CONFIG_FLAGS_H_

#include <optional>

#include "server/config/config.h"

namespace holdfast::server {

// Reads the command line and the configuration file that it may name. If the
// process must exit, because it has printed the help or an error in a flag,
// returns nullopt and sets `exit_code`.
std::optional<Config> ParseFlags(int argc, char** argv, int* exit_code);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_FLAGS_H_
