// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_GRAPH_RUN_H_
#define HOLDFAST_CLIENT_CLI_GRAPH_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/command.h"
#include "client/cli/session_flags.h"
#include "holdfast/v1/graph_file.pb.h"

namespace holdfast::cli {

struct GraphRunFlags {
  std::string file;
  uint32_t repeat = 1;
  // The file for the driver's drawing of the graph; empty: no drawing.
  std::string dot;
  SessionFlags session;
  std::vector<std::string> arguments;
};

// Compiles the kernels of the file, fills its buffers from the arguments,
// launches the graph and writes the outputs. Paths of sources are relative to
// the folder of `flags.file`.
absl::Status RunGraph(const CommonOptions& options, const GraphRunFlags& flags,
                      const v1::GraphFile& file);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_GRAPH_RUN_H_
