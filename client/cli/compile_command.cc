// SPDX-License-Identifier: Apache-2.0
#include "client/cli/compile_command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/file.h"
#include "client/cli/json_writer.h"
#include "client/cli/progress_line.h"
#include "client/cli/source.h"
#include "client/cpp/program.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct CompileFlags {
  std::string source;
  std::string output;
  std::string arch;
  std::vector<std::string> names;
};

absl::StatusOr<v1::ObjectFormat> TargetOf(const std::string& output) {
  if (absl::EndsWith(output, ".ptx")) return v1::OBJECT_FORMAT_PTX;
  if (absl::EndsWith(output, ".cubin")) return v1::OBJECT_FORMAT_CUBIN;
  return absl::InvalidArgumentError(
      absl::StrCat("-o ", output, ": the name must end in .ptx or .cubin"));
}

// Empty: compiled for this request.
const char* TierName(v1::CacheTier tier) {
  if (tier == v1::CACHE_TIER_MEMORY) return "memory";
  return tier == v1::CACHE_TIER_DISK ? "disk" : "";
}

void PrintCompilation(const CompileFlags& flags, const Compilation& compilation,
                      bool as_json) {
  const ObjectCode& object = compilation.object;
  if (as_json) {
    JsonWriter json;
    json.BeginObject()
        .Member("output", flags.output)
        .Member("bytes", object.size)
        .Member("sha256", absl::BytesToHexString(object.sha256))
        .Member("arch", compilation.arch)
        .Member("compiler", compilation.compiler)
        .Member("cache_hit", compilation.cache_hit)
        .Member("cache_tier", TierName(compilation.cache_tier))
        .Member("compile_ms", absl::ToDoubleMilliseconds(compilation.time))
        .Member("log", compilation.log)
        .BeginObject("symbols");
    for (const auto& [name, symbol] : object.symbols) json.Member(name, symbol);
    std::puts(json.EndObject().EndObject().text().c_str());
    return;
  }
  std::printf("%s: %s for %s by %s, %s\n", flags.output.c_str(),
              HumanBytes(object.size).c_str(), compilation.arch.c_str(),
              compilation.compiler.c_str(), TimeOf(compilation).c_str());
  for (const auto& [name, symbol] : object.symbols) {
    std::printf("  %s -> %s\n", name.c_str(), symbol.c_str());
  }
}

absl::StatusOr<Compilation> CompileShowingProgress(
    const Program& program, Daemon& daemon,
    const std::vector<std::string>& names, v1::ObjectFormat target) {
  ProgressLine line(STDERR_FILENO);
  return program.Compile(
      daemon, names, target,
      [&line](const v1::CompileProgress& progress) { line.Show(progress); });
}

absl::Status Compile(const CommonOptions& options, const CompileFlags& flags,
                     const std::vector<std::string>& compiler_options) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat target,
                            TargetOf(flags.output));
  HOLDFAST_RETURN_IF_ERROR(CheckCompilerOptions(compiler_options));
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(flags.source));
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  const Program program(std::move(source),
                        {.name = std::filesystem::path(flags.source).filename(),
                         .arch = flags.arch,
                         .options = compiler_options});
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      CompileShowingProgress(program, *daemon, flags.names, target));
  PrintNotes(compilation);
  HOLDFAST_ASSIGN_OR_RETURN(const std::string bytes,
                            compilation.object.Fetch(*daemon));
  HOLDFAST_RETURN_IF_ERROR(WriteFile(flags.output, bytes));
  PrintCompilation(flags, compilation, options.json);
  return absl::OkStatus();
}

}  // namespace

void AddCompileCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  auto flags = std::make_shared<CompileFlags>();
  auto self = std::make_shared<CLI::App*>();
  CLI::App* command = AddCommand(
      app, options, "compile", "Compile CUDA C++ to PTX or a cubin",
      [options, flags, self] {
        return Compile(*options, *flags, (*self)->remaining());
      },
      status);
  *self = command;
  command->allow_extras();
  command->add_option("FILE", flags->source, "CUDA C++ source")->required();
  command
      ->add_option("-o,--output", flags->output,
                   "What to write; its end decides: .ptx or .cubin")
      ->required();
  command->add_option("--arch", flags->arch,
                      "sm_90, compute_90, ... (default: that of device 0)");
  command
      ->add_option("--name", flags->names,
                   "An instantiation that is wanted, 'vector_add<float>'; may "
                   "be given again")
      ->expected(1)
      ->take_all();
  command->footer(
      "Other options go to NVRTC, one word each: --fmad=false -DN=4 "
      "--std=c++17.\n\n"
      "Example:\n"
      "  holdfast compile add.cu -o add.ptx --name 'vector_add<float>'");
}

}  // namespace holdfast::cli
