// SPDX-License-Identifier: Apache-2.0
//
// Turns a file on the command line into an object: compiles it, or puts it into
// the store.
#ifndef HOLDFAST_CLIENT_CLI_SOURCE_H_
#define HOLDFAST_CLIENT_CLI_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/compile/program.h"

namespace holdfast::cli {

// Options of the compiler, and places to look for headers.
struct SourceFlags {
  std::string arch;
  std::vector<std::string> options;  // one word each
  std::vector<std::string> headers;  // "NAME=FILE"
  std::vector<std::string> include_path;
  std::vector<std::string> pre_include;
};

// --header, -I and --pre-include. `flags` must outlive the command.
void AddSourceFlags(CLI::App* command, SourceFlags* flags);

// A flag that is given once for each value.
CLI::Option* AddList(CLI::App* command, const std::string& name,
                     std::vector<std::string>* values,
                     const std::string& description);

// "NAME=FILE" each, as name and text; a file alone goes by its last part.
absl::StatusOr<std::map<std::string, std::string>> ReadTexts(
    const std::vector<std::string>& arguments);

// The options of a program of CUDA C++ in the file at `path`, whose folder is
// searched for headers, too; "-" is standard input.
absl::StatusOr<ProgramOptions> ToProgramOptions(const SourceFlags& flags,
                                                const std::string& path);

// Checks that the rest of a command line is options: "--fmad=false".
absl::Status CheckCompilerOptions(const std::vector<std::string>& options);

// The object of a .cu file, or of one that PutObjectFile takes. `kernel` is
// wanted from it; a source that compiles, but not with this name, is NOT_FOUND.
absl::StatusOr<Compilation> LoadSource(Daemon& daemon, const std::string& path,
                                       const std::string& kernel,
                                       const SourceFlags& flags);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SOURCE_H_
