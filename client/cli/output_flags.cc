// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output_flags.h"

namespace holdfast::cli {

void AddOutputFlags(CLI::App* command, OutputFlags* flags) {
  command->add_option("-o,--output", flags->output,
                      "What to write; -: standard output; without it the "
                      "object stays in the daemon's store");
  command->add_option("--target", flags->target,
                      "auto (what device 0 runs best), ptx, cubin or ltoir; "
                      "default: by the end of the output's name");
  command->add_option("--arch", flags->arch,
                      "sm_90, compute_90, ... (default: that of device 0)");
}

}  // namespace holdfast::cli
