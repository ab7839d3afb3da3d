// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_
#define HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_

#include <filesystem>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace holdfast::cli {

// The files in one directory that outputs are written to. Their names are a
// session's and may be hostile. Buffers of different directories may have one
// file name, and none overwrites another.
class OutputPaths {
 public:
  explicit OutputPaths(const std::string& directory) : directory_(directory) {}

  // The path for an output of this file name: in the directory and nowhere
  // else; with a number, "x-2.npy", if it was given out before. What a terminal
  // or a shell would obey (control characters, a dot or a dash at the
  // beginning) becomes "_". INVALID_ARGUMENT: it names no file.
  absl::StatusOr<std::string> Next(const std::string& file);

 private:
  const std::filesystem::path directory_;
  std::set<std::string> taken_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_OUTPUT_PATHS_H_
