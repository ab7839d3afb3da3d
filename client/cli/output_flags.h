// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_OUTPUT_FLAGS_H_
#define HOLDFAST_CLIENT_CLI_OUTPUT_FLAGS_H_

#include <string>

#include "CLI/CLI.hpp"

namespace holdfast::cli {

// The flags about the output of compiling and linking.
struct OutputFlags {
  std::string output;
  std::string target;
  std::string arch;
};

// Adds -o, --target and --arch. `flags` must outlive the command.
void AddOutputFlags(CLI::App* command, OutputFlags* flags);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_OUTPUT_FLAGS_H_
