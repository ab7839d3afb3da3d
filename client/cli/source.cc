// SPDX-License-Identifier: Apache-2.0
#include "client/cli/source.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/file.h"
#include "client/cli/object_file.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// Compiling failed with the kernel's name among the wanted ones: is it the
// source, or the name?
absl::Status NameOrSource(Daemon& daemon, const Program& program,
                          const std::string& path, const std::string& kernel,
                          const absl::Status& failure) {
  if (!absl::IsInvalidArgument(failure)) return failure;
  const auto without_name = program.Compile(daemon);
  if (!without_name.ok()) return without_name.status();
  absl::Status status =
      absl::NotFoundError(absl::StrCat(path, " compiles, but has no kernel \"",
                                       kernel, "\"; the compiler says"));
  if (const auto detail = GetErrorDetail(failure)) {
    SetErrorDetail(*detail, &status);
  }
  return status;
}

absl::StatusOr<Compilation> CompileFile(
    Daemon& daemon, const std::string& path, const std::string& kernel,
    const std::string& arch, const std::vector<std::string>& options) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(path));
  const Program program(std::move(source),
                        {.name = std::filesystem::path(path).filename(),
                         .arch = arch,
                         .options = options});
  absl::StatusOr<Compilation> compilation = program.Compile(daemon, {kernel});
  if (compilation.ok()) return compilation;
  return NameOrSource(daemon, program, path, kernel, compilation.status());
}

}  // namespace

absl::Status CheckCompilerOptions(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (!absl::StartsWith(option, "-")) {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected argument \"", option, "\""));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Compilation> LoadSource(
    Daemon& daemon, const std::string& path, const std::string& kernel,
    const std::string& arch, const std::vector<std::string>& options) {
  if (absl::EndsWith(path, ".cu")) {
    return CompileFile(daemon, path, kernel, arch, options);
  }
  if (!options.empty() || !arch.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not compiled: ", options.empty() ? "--arch" : options[0],
        " is of no use"));
  }
  Compilation compilation;
  HOLDFAST_ASSIGN_OR_RETURN(compilation.object, PutObjectFile(daemon, path));
  return compilation;
}

}  // namespace holdfast::cli
