// SPDX-License-Identifier: Apache-2.0
#include "client/cli/kernels_command.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/compilation_report.h"
#include "client/cli/json_writer.h"
#include "client/cli/object_file.h"
#include "client/cli/source.h"
#include "client/cli/usage_error.h"
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

struct KernelsFlags {
  std::string file;
  std::vector<std::string> names;
  SourceFlags how;
};

absl::Status CheckNames(const KernelsFlags& flags) {
  if (flags.names.empty() || absl::EndsWith(flags.file, ".cu")) {
    return absl::OkStatus();
  }
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat(flags.file, " is not compiled: --name is of no use")));
}

absl::StatusOr<std::vector<KernelReport>> Inspect(Session& session,
                                                  const KernelsFlags& flags) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      LoadSource(session.daemon(), flags.file, flags.names, flags.how));
  PrintNotes(compilation);
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session.Load(compilation.object));
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

// A template is no kernel; its instances are.
void PrintThatThereIsNone(const std::string& file) {
  const char* const advice =
      absl::EndsWith(file, ".cu")
          ? "; --name 'scale<float>' names an instance of a template"
          : "";
  std::fprintf(stderr, "%s has no kernels%s\n", ToPrintable(file).c_str(),
               advice);
}

absl::Status ShowKernels(const CommonOptions& options,
                         const KernelsFlags& flags) {
  HOLDFAST_RETURN_IF_ERROR(CheckNames(flags));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = options.address, .name = "kernels"}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto reports, Inspect(*session, flags));
  if (reports.empty()) PrintThatThereIsNone(flags.file);
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
  auto flags = std::make_shared<KernelsFlags>();
  CLI::App* command = AddCommand(
      app, options, "kernels",
      "List the kernels of an object or a source with their parameters and "
      "attributes",
      [options, flags] { return ShowKernels(*options, *flags); }, status);
  command
      ->add_option("OBJECT", flags->file,
                   absl::StrCat("FILE (", EndingsFor(ObjectUse::kLoad),
                                "), FORMAT:FILE, or sha256:HEX of an object in "
                                "the daemon's store"))
      ->required();
  AddList(command, "--name", &flags->names,
          "A template instance in a .cu, e.g. 'scale<float>'; may be repeated");
  AddSourceFlags(command, &flags->how);
}

}  // namespace holdfast::cli
