// SPDX-License-Identifier: Apache-2.0
#include "client/cli/source.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/file.h"
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

absl::StatusOr<v1::ObjectFormat> FormatOf(const std::string& path) {
  if (absl::EndsWith(path, ".ptx")) return v1::OBJECT_FORMAT_PTX;
  if (absl::EndsWith(path, ".cubin")) return v1::OBJECT_FORMAT_CUBIN;
  if (absl::EndsWith(path, ".fatbin")) return v1::OBJECT_FORMAT_FATBIN;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": the name must end in .cu, .ptx, .cubin or .fatbin"));
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
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat format, FormatOf(path));
  if (!options.empty() || !arch.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not compiled: ", options.empty() ? "--arch" : options[0],
        " is of no use"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  Compilation compilation;
  HOLDFAST_ASSIGN_OR_RETURN(compilation.object,
                            ObjectCode::Put(daemon, bytes, format));
  return compilation;
}

void PrintNotes(const Compilation& compilation) {
  if (!compilation.log.empty()) {
    std::fprintf(stderr, "%s\n", compilation.log.c_str());
  }
  for (const std::string& warning : compilation.warnings) {
    std::fprintf(stderr, "holdfast: warning: %s\n", warning.c_str());
  }
}

std::string TimeOf(const Compilation& compilation) {
  if (compilation.cache_hit) {
    return absl::StrCat("from the cache",
                        compilation.cache_tier == v1::CACHE_TIER_DISK
                            ? " on disk"
                            : " in memory");
  }
  return absl::StrFormat("%.1f ms",
                         absl::ToDoubleMilliseconds(compilation.time));
}

}  // namespace holdfast::cli
