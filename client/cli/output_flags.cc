// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output_flags.h"

namespace holdfast::cli {

void AddOutputFlags(CLI::App* command, OutputFlags* flags) {
  command->add_option("-o,--output", flags->output,
                      "The file to write; -: standard output. Without this "
                      "option the object stays in the daemon's store");
  command->add_option("--target", flags->target,
                      "auto (the format that device 0 runs best), ptx, cubin "
                      "or ltoir; default: by the extension of the output");
  command->add_option("--arch", flags->arch,
                      "sm_90, compute_90, ... (default: that of device 0)");
}

}  // namespace holdfast::cli
