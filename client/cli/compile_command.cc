// SPDX-License-Identifier: Apache-2.0
#include "client/cli/compile_command.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/compilation_report.h"
#include "client/cli/file.h"
#include "client/cli/object_file.h"
#include "client/cli/output_flags.h"
#include "client/cli/progress_line.h"
#include "client/cli/source.h"
#include "client/cpp/compile/program.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct CompileFlags : OutputFlags {
  std::string source;
  std::string language;
  std::vector<std::string> names;
  std::vector<std::string> headers;
  std::vector<std::string> extra_sources;
};

using Texts = std::map<std::string, std::string>;

// "name=FILE" each; a file alone goes by its last part.
absl::StatusOr<Texts> ReadTexts(const std::vector<std::string>& arguments) {
  Texts texts;
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
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is given twice"));
    }
  }
  return texts;
}

std::string SourceName(const std::string& path) {
  return path == "-" ? "stdin"
                     : std::filesystem::path(path).filename().string();
}

absl::StatusOr<Compilation> CompileShowingProgress(
    const Program& program, Daemon& daemon,
    const std::vector<std::string>& names, v1::ObjectFormat target) {
  ProgressLine line(STDERR_FILENO, "compiling");
  return program.Compile(
      daemon, names, target,
      [&line](const v1::CompileProgress& progress) { line.Show(progress); });
}

absl::Status Compile(const CommonOptions& options, const CompileFlags& flags,
                     const std::vector<std::string>& compiler_options) {
  ProgramOptions program_options;
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat target,
                            ParseTarget(flags.target, flags.output));
  HOLDFAST_ASSIGN_OR_RETURN(program_options.language,
                            ParseLanguage(flags.language, flags.source));
  HOLDFAST_RETURN_IF_ERROR(CheckCompilerOptions(compiler_options));
  program_options.name = SourceName(flags.source);
  program_options.arch = flags.arch;
  program_options.options = compiler_options;
  HOLDFAST_ASSIGN_OR_RETURN(program_options.headers, ReadTexts(flags.headers));
  HOLDFAST_ASSIGN_OR_RETURN(program_options.extra_sources,
                            ReadTexts(flags.extra_sources));
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(flags.source));
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  const Program program(std::move(source), std::move(program_options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      CompileShowingProgress(program, *daemon, flags.names, target));
  return WriteCompilation(*daemon, compilation, flags.output, options.json);
}

CLI::Option* AddList(CLI::App* command, const std::string& name,
                     std::vector<std::string>* values,
                     const std::string& description) {
  return command->add_option(name, *values, description)
      ->expected(1)
      ->take_all();
}

void AddFlags(CLI::App* command, CompileFlags* flags) {
  command
      ->add_option("FILE", flags->source,
                   "A source: .ptx is PTX, .ll and .bc are NVVM IR, all else "
                   "is CUDA C++; - is standard input")
      ->required();
  AddOutputFlags(command, flags);
  command->add_option("--language", flags->language,
                      "c++, ptx or nvvm; default: by the end of FILE");
  AddList(command, "--name", &flags->names,
          "An instantiation that is wanted, 'vector_add<float>'; may be given "
          "again");
  AddList(command, "--header", &flags->headers,
          "NAME=FILE: what #include \"NAME\" finds; may be given again");
  AddList(command, "--extra", &flags->extra_sources,
          "One more module of an NVVM program; may be given again");
}

}  // namespace

void AddCompileCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  auto flags = std::make_shared<CompileFlags>();
  auto self = std::make_shared<CLI::App*>();
  CLI::App* command = AddCommand(
      app, options, "compile",
      "Compile CUDA C++, PTX or NVVM IR to PTX, a cubin or LTO IR",
      [options, flags, self] {
        return Compile(*options, *flags, (*self)->remaining());
      },
      status);
  *self = command;
  command->allow_extras();
  AddFlags(command, flags.get());
  command->footer(
      "Other options go to the compiler, one word each, in their long form: "
      "--fmad=false -DN=4 --std=c++17.\n\n"
      "Example:\n"
      "  holdfast compile add.cu -o add.ptx --name 'vector_add<float>'");
}

}  // namespace holdfast::cli
