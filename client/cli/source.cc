// SPDX-License-Identifier: Apache-2.0
#include "client/cli/source.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/file.h"
#include "client/cli/object_file.h"
#include "client/cli/usage_error.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

using Names = std::vector<std::string>;

// Compiling for these names failed: is it the source, or a name?
absl::Status NameOrSource(Daemon& daemon, const Program& program,
                          const std::string& path, const Names& kernels,
                          const absl::Status& failure) {
  if (kernels.empty() || !absl::IsInvalidArgument(failure)) return failure;
  const auto without_name = program.Compile(daemon);
  if (!without_name.ok()) return without_name.status();
  absl::Status status = absl::NotFoundError(
      absl::StrCat(path, " compiles, but has no kernel \"",
                   absl::StrJoin(kernels, "\" or \""), "\" (`holdfast kernels ",
                   path, "` lists those that it has); the compiler says"));
  if (const auto detail = GetErrorDetail(failure)) {
    SetErrorDetail(*detail, &status);
  }
  return status;
}

absl::StatusOr<Compilation> CompileFile(Daemon& daemon, const std::string& path,
                                        const Names& kernels,
                                        const SourceFlags& flags) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(path));
  HOLDFAST_ASSIGN_OR_RETURN(ProgramOptions options,
                            ToProgramOptions(flags, path));
  const Program program(std::move(source), std::move(options));
  absl::StatusOr<Compilation> compilation = program.Compile(daemon, kernels);
  if (compilation.ok()) return compilation;
  return NameOrSource(daemon, program, path, kernels, compilation.status());
}

// What would be of no use for a file that is not compiled.
std::string FirstFlagOf(const SourceFlags& flags) {
  if (!flags.options.empty()) return flags.options.front();
  if (!flags.arch.empty()) return "--arch";
  if (!flags.headers.empty()) return "--header";
  if (!flags.include_path.empty()) return "-I";
  return flags.pre_include.empty() ? "" : "--pre-include";
}

}  // namespace

CLI::Option* AddList(CLI::App* command, const std::string& name,
                     std::vector<std::string>* values,
                     const std::string& description) {
  return command->add_option(name, *values, description)
      ->expected(1)
      ->take_all();
}

void AddSourceFlags(CLI::App* command, SourceFlags* flags) {
  AddList(command, "--header", &flags->headers,
          "NAME=FILE: what #include \"NAME\" finds; may be given again");
  AddList(command, "-I,--include-path", &flags->include_path,
          "A folder of this machine with headers; what the source includes of "
          "it is sent; may be given again");
  AddList(command, "--pre-include", &flags->pre_include,
          "A header before the source's first line; may be given again");
}

absl::StatusOr<std::map<std::string, std::string>> ReadTexts(
    const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> texts;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string path =
        equals == std::string::npos ? argument : argument.substr(equals + 1);
    const std::string name =
        equals == std::string::npos
            ? std::filesystem::path(path).filename().string()
            : argument.substr(0, equals);
    HOLDFAST_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
    if (!texts.emplace(name, std::move(text)).second) {
      return UsageError(absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is given twice")));
    }
  }
  return texts;
}

absl::StatusOr<ProgramOptions> ToProgramOptions(const SourceFlags& flags,
                                                const std::string& path) {
  ProgramOptions options;
  const std::filesystem::path file = path;
  options.name = path == "-" ? "stdin" : file.filename().string();
  options.arch = flags.arch;
  options.options = flags.options;
  options.include_path = flags.include_path;
  options.pre_include = flags.pre_include;
  if (path != "-") {
    options.source_folder =
        file.has_parent_path() ? file.parent_path().string() : ".";
  }
  HOLDFAST_ASSIGN_OR_RETURN(options.headers, ReadTexts(flags.headers));
  return options;
}

absl::Status CheckCompilerOptions(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (!absl::StartsWith(option, "-")) {
      return UsageError(absl::InvalidArgumentError(
          absl::StrCat("unexpected argument \"", option, "\"")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Compilation> LoadSource(Daemon& daemon, const std::string& path,
                                       const std::vector<std::string>& kernels,
                                       const SourceFlags& flags) {
  if (absl::EndsWith(path, ".cu")) {
    return CompileFile(daemon, path, kernels, flags);
  }
  if (const std::string flag = FirstFlagOf(flags); !flag.empty()) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat(path, " is not compiled: ", flag, " is of no use")));
  }
  Compilation compilation;
  HOLDFAST_ASSIGN_OR_RETURN(compilation.object,
                            PutObjectFile(daemon, path, ObjectUse::kLoad));
  return compilation;
}

}  // namespace holdfast::cli
