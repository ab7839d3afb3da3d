// SPDX-License-Identifier: Apache-2.0
#include "client/cli/compile_command.h"

#include <unistd.h>

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
  SourceFlags how;
  std::vector<std::string> extra_sources;
};

absl::StatusOr<Compilation> CompileShowingProgress(
    const Program& program, Daemon& daemon,
    const std::vector<std::string>& names, v1::ObjectFormat target) {
  ProgressLine line(STDERR_FILENO, "compiling");
  return program.Compile(
      daemon, names, target,
      [&line](const v1::CompileProgress& progress) { line.Show(progress); });
}

// Source files beside each other include each other, but for PTX and NVVM IR.
absl::StatusOr<ProgramOptions> ToProgramOptions(
    const CompileFlags& flags,
    const std::vector<std::string>& compiler_options) {
  SourceFlags how = flags.how;
  how.arch = flags.arch;
  how.options = compiler_options;
  HOLDFAST_ASSIGN_OR_RETURN(ProgramOptions options,
                            ToProgramOptions(how, flags.source));
  HOLDFAST_ASSIGN_OR_RETURN(options.language,
                            ParseLanguage(flags.language, flags.source));
  if (options.language > v1::SOURCE_LANGUAGE_CUDA_CPP) {
    options.source_folder.clear();
  }
  HOLDFAST_ASSIGN_OR_RETURN(options.extra_sources,
                            ReadTexts(flags.extra_sources));
  return options;
}

absl::Status Compile(const CommonOptions& options, const CompileFlags& flags,
                     const std::vector<std::string>& compiler_options) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat target,
                            ParseTarget(flags.target, flags.output));
  HOLDFAST_RETURN_IF_ERROR(CheckCompilerOptions(compiler_options));
  HOLDFAST_ASSIGN_OR_RETURN(ProgramOptions program_options,
                            ToProgramOptions(flags, compiler_options));
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(flags.source));
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  const Program program(std::move(source), std::move(program_options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      CompileShowingProgress(program, *daemon, flags.names, target));
  return WriteCompilation(*daemon, compilation, flags.output, options.json);
}

void AddFlags(CLI::App* command, CompileFlags* flags) {
  command
      ->add_option("FILE", flags->source,
                   "The source: .ptx is PTX, .ll and .bc are NVVM IR, any "
                   "other name is CUDA C++; - is standard input")
      ->required();
  AddOutputFlags(command, flags);
  command->add_option("--language", flags->language,
                      "c++, ptx or nvvm; default: by the extension of FILE");
  AddList(command, "--name", &flags->names,
          "A template instance to compile, e.g. 'vector_add<float>'; may be "
          "repeated");
  AddSourceFlags(command, &flags->how);
  AddList(command, "--extra", &flags->extra_sources,
          "One more module of an NVVM program; may be repeated");
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
