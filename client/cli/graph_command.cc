// SPDX-License-Identifier: Apache-2.0
#include "client/cli/graph_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "client/cli/file.h"
#include "client/cli/graph_run.h"
#include "client/cli/session_flags.h"
#include "client/cpp/graph/graph_file.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

absl::StatusOr<v1::GraphFile> ReadGraph(const std::string& path) {
  HOLDFAST_ASSIGN_OR_RETURN(const GraphFileFormat format, FormatOfPath(path));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<v1::GraphFile> file = ParseGraphFile(text, format);
  if (!file.ok()) return WithPrefix(path, file.status());
  return file;
}

absl::Status Run(const CommonOptions& options, GraphRunFlags flags) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::GraphFile file, ReadGraph(flags.file));
  return RunGraph(options, flags, file);
}

absl::Status Draw(const CommonOptions& options, const std::string& path) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::GraphFile file, ReadGraph(path));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition,
                            GraphDefinition::FromProto(file.definition()));
  const std::string dot = ToDot(definition, NamesOf(file),
                                std::filesystem::path(path).stem().string());
  if (!options.json) std::fputs(dot.c_str(), stdout);
  ReportDone(options, [&](JsonWriter& json) { json.Member("dot", dot); });
  return absl::OkStatus();
}

constexpr char kRunFooter[] =
    R"(Give one ARG for each buffer of the file that is not scratch, in the order of
the buffers:
  in:FILE.npy               the array in the file
  out:FILE.npy:TYPE[N,...]  zeros, written to the file afterwards
  inout:FILE.npy:OUT.npy    the array in FILE.npy, written to OUT.npy afterwards
  scratch:BYTES             zeros

With --repeat, each launch works on the data of the launch before it.
client/cli/README.md shows a file; holdfast/v1/graph_file.proto describes it.

Example:
  holdfast graph run pipeline.json in:a.npy 'out:c.npy:f32[50000]' --repeat 10)";

void AddRun(CLI::App* graph, CommonOptions* options, absl::Status* status) {
  auto flags = std::make_shared<GraphRunFlags>();
  CLI::App* command = AddCommand(
      graph, options, "run", "Run a graph on NumPy files",
      [options, flags] { return Run(*options, *flags); }, status);
  command
      ->add_option("FILE", flags->file, "The graph's file, .json or .textproto")
      ->required();
  command->add_option("--repeat", flags->repeat, "The number of launches")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--dot", flags->dot,
                      "Write the driver's drawing of the graph to this file");
  AddSessionFlags(command, &flags->session);
  command->add_option("ARG", flags->arguments, "See below");
  command->footer(kRunFooter);
}

void AddDot(CLI::App* graph, CommonOptions* options, absl::Status* status) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      graph, options, "dot",
      "Print the graph of a file as DOT; needs no daemon",
      [options, file] { return Draw(*options, *file); }, status);
  command->add_option("FILE", *file, "The graph's file, .json or .textproto")
      ->required();
}

}  // namespace

void AddGraphCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status) {
  CLI::App* graph = AddGroup(app, options, "graph", "Run and draw graphs");
  AddRun(graph, options, status);
  AddDot(graph, options, status);
}

}  // namespace holdfast::cli
