// SPDX-License-Identifier: Apache-2.0
//
// Makes an object of a file on the command line: compiles the file, or puts it
// into the daemon's store.
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

// The options for the compiler, and the places of headers.
struct SourceFlags {
  std::string arch;
  std::vector<std::string> options;  // one word each
  std::vector<std::string> headers;  // "NAME=FILE"
  std::vector<std::string> include_path;
  std::vector<std::string> pre_include;
};

// Adds --header, -I and --pre-include. `flags` must outlive the command.
void AddSourceFlags(CLI::App* command, SourceFlags* flags);

// Adds a flag that is given once for each value.
CLI::Option* AddList(CLI::App* command, const std::string& name,
                     std::vector<std::string>* values,
                     const std::string& description);

// Reads the files of arguments "NAME=FILE". Returns their texts by name. A file
// without a name has the last part of its path as its name.
absl::StatusOr<std::map<std::string, std::string>> ReadTexts(
    const std::vector<std::string>& arguments);

// Returns the options for the CUDA C++ program in the file `path`; "-" is
// standard input. The folder of the file is also searched for headers.
absl::StatusOr<ProgramOptions> ToProgramOptions(const SourceFlags& flags,
                                                const std::string& path);

// Checks that every word at the end of a command line is an option, such as
// "--fmad=false".
absl::Status CheckCompilerOptions(const std::vector<std::string>& options);

// Compiles a .cu file for `kernels`, or puts any other file that PutObjectFile
// takes. A template is compiled only for the names in `kernels`. If `kernels`
// is empty, the object has all kernels that are not templates. NOT_FOUND: the
// source compiles, but has no kernel of such a name. Returns a usage error if
// there are flags of the compiler and the file is not compiled.
absl::StatusOr<Compilation> LoadSource(Daemon& daemon, const std::string& path,
                                       const std::vector<std::string>& kernels,
                                       const SourceFlags& flags);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SOURCE_H_
