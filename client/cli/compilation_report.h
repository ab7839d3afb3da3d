// SPDX-License-Identifier: Apache-2.0
//
// Reports the outcome of a compilation or a link.
#ifndef HOLDFAST_CLIENT_CLI_COMPILATION_REPORT_H_
#define HOLDFAST_CLIENT_CLI_COMPILATION_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast::cli {

// Prints the compiler's log and the daemon's warnings to stderr.
void PrintNotes(const Compilation& compilation);

// Returns "12.3 ms", "from the cache in memory" or "from the cache on disk".
std::string TimeOf(const Compilation& compilation);

// Writes the object to the file `output` ("-": standard output; empty:
// nowhere). Prints its description to stdout, or to stderr if the object goes
// to stdout.
absl::Status WriteCompilation(Daemon& daemon, const Compilation& compilation,
                              const std::string& output, bool as_json);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPILATION_REPORT_H_
