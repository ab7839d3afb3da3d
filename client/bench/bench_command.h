// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_BENCH_COMMAND_H_
#define HOLDFAST_CLIENT_BENCH_BENCH_COMMAND_H_

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace holdfast::cli {

// Adds `holdfast bench`; see client/bench/README.md.
void AddBenchCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_BENCH_BENCH_COMMAND_H_
