// SPDX-License-Identifier: Apache-2.0
//
// What a file on the command line becomes: compiled, or put into the store.
#ifndef HOLDFAST_CLIENT_CLI_SOURCE_H_
#define HOLDFAST_CLIENT_CLI_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/program.h"

namespace holdfast::cli {

// What is left on a command line must be options: "--fmad=false".
absl::Status CheckCompilerOptions(const std::vector<std::string>& options);

// The object of a .cu, .ptx, .cubin or .fatbin file. `kernel` is wanted from
// it; a source that compiles, but not with this name, is NOT_FOUND.
absl::StatusOr<Compilation> LoadSource(Daemon& daemon, const std::string& path,
                                       const std::string& kernel,
                                       const std::string& arch,
                                       const std::vector<std::string>& options);

// The compiler's log and the daemon's warnings, to stderr.
void PrintNotes(const Compilation& compilation);

// "12.3 ms", "from the cache in memory" or "... on disk".
std::string TimeOf(const Compilation& compilation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SOURCE_H_
