// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_
#define HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_

#include <filesystem>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace holdfast::cli {

// Chooses paths in one directory for a session's output files. Another client
// has chosen the file names, which may be hostile. Outputs with equal file
// names get different paths.
class OutputPaths {
 public:
  explicit OutputPaths(const std::string& directory) : directory_(directory) {}

  // Returns the path for an output with this file name, always in the
  // directory; with a number, "x-2.npy", if the name was used before.
  // Characters that a terminal or shell interprets (control characters, a
  // leading dot or dash) become "_". INVALID_ARGUMENT: `file` names no file.
  absl::StatusOr<std::string> Next(const std::string& file);

 private:
  const std::filesystem::path directory_;
  std::set<std::string> taken_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_
