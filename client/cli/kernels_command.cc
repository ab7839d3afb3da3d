// SPDX-License-Identifier: Apache-2.0
#include "client/cli/kernels_command.h"

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/cli/compilation_report.h"
#include "client/cli/file.h"
#include "client/cli/json_writer.h"
#include "client/cli/object_file.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/occupancy.h"
#include "client/cpp/session.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast::cli {
namespace {

struct KernelReport {
  v1::KernelDescription description;
  Occupancy::BlockSize block;
};

// Sources are compiled; templates have no kernels without names.
absl::StatusOr<ObjectCode> ObjectOf(Daemon& daemon, const std::string& file) {
  if (!absl::EndsWith(file, ".cu")) return PutObjectFile(daemon, file);
  HOLDFAST_ASSIGN_OR_RETURN(std::string source, ReadFile(file));
  const Program program(
      std::move(source),
      {.name = std::filesystem::path(file).filename().string()});
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            program.Compile(daemon));
  PrintNotes(compilation);
  return compilation.object;
}

absl::StatusOr<std::vector<KernelReport>> Inspect(Session& session,
                                                  const std::string& file) {
  HOLDFAST_ASSIGN_OR_RETURN(const ObjectCode object,
                            ObjectOf(session.daemon(), file));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module, session.Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(const auto names, module.KernelNames());
  std::vector<KernelReport> reports;
  for (const std::string& name : names) {
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module.GetKernel(name));
    KernelReport report;
    HOLDFAST_ASSIGN_OR_RETURN(report.description, kernel.Describe());
    HOLDFAST_ASSIGN_OR_RETURN(report.block,
                              Occupancy(kernel).MaxPotentialBlockSize());
    reports.push_back(std::move(report));
  }
  return reports;
}

// Sorted.
std::map<std::string, int64_t> AttributesOf(const KernelReport& report) {
  return {report.description.attributes().begin(),
          report.description.attributes().end()};
}

void PrintText(const KernelReport& report) {
  std::printf("%s\n", ToPrintable(report.description.name()).c_str());
  for (const v1::KernelParameter& parameter : report.description.parameters()) {
    std::printf("  parameter of %llu bytes at %llu\n",
                static_cast<unsigned long long>(parameter.size()),
                static_cast<unsigned long long>(parameter.offset()));
  }
  std::printf("  fills the device with %u blocks of %u threads\n",
              report.block.min_grid, report.block.threads);
  for (const auto& [name, value] : AttributesOf(report)) {
    std::printf("  %-40s %lld\n", name.c_str(), static_cast<long long>(value));
  }
}

void WriteJson(const KernelReport& report, JsonWriter* json) {
  json->BeginObject()
      .Member("name", report.description.name())
      .BeginArray("parameters");
  for (const v1::KernelParameter& parameter : report.description.parameters()) {
    json->BeginObject()
        .Member("offset", parameter.offset())
        .Member("size", parameter.size())
        .EndObject();
  }
  json->EndArray()
      .Member("block", report.block.threads)
      .Member("min_grid", report.block.min_grid)
      .BeginObject("attributes");
  for (const auto& [name, value] : AttributesOf(report)) {
    json->Member(name, value);
  }
  json->EndObject().EndObject();
}

absl::Status ShowKernels(const CommonOptions& options,
                         const std::string& file) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = options.address, .name = "kernels"}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto reports, Inspect(*session, file));
  JsonWriter json;
  json.BeginArray();
  for (const KernelReport& report : reports) {
    WriteJson(report, &json);
    if (!options.json) PrintText(report);
  }
  json.EndArray();
  if (options.json) std::puts(json.text().c_str());
  return absl::OkStatus();
}

}  // namespace

void AddKernelsCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      app, options, "kernels",
      "List the kernels of an object or a source with their parameters and "
      "attributes",
      [options, file] { return ShowKernels(*options, *file); }, status);
  command
      ->add_option("OBJECT", *file,
                   "FILE (.cu .ptx .cubin .fatbin), FORMAT:FILE, or sha256:HEX "
                   "of an object in the daemon's store")
      ->required();
}

}  // namespace holdfast::cli
