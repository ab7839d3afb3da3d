// SPDX-License-Identifier: Apache-2.0
//
// Turns a file on the command line into an object: compiles it, or puts it into
// the store.
#ifndef HOLDFAST_CLIENT_CLI_SOURCE_H_
#define HOLDFAST_CLIENT_CLI_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/compile/program.h"

namespace holdfast::cli {

// Checks that the rest of a command line is options: "--fmad=false".
absl::Status CheckCompilerOptions(const std::vector<std::string>& options);

// The object of a .cu file, or of one that PutObjectFile takes. `kernel` is
// wanted from it; a source that compiles, but not with this name, is NOT_FOUND.
absl::StatusOr<Compilation> LoadSource(Daemon& daemon, const std::string& path,
                                       const std::string& kernel,
                                       const std::string& arch,
                                       const std::vector<std::string>& options);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SOURCE_H_
