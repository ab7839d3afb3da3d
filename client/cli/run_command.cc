// SPDX-License-Identifier: Apache-2.0
#include "client/cli/run_command.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/array_text.h"
#include "client/cli/compilation_report.h"
#include "client/cli/file.h"
#include "client/cli/find_kernel.h"
#include "client/cli/json_writer.h"
#include "client/cli/kernel_buffers.h"
#include "client/cli/memcheck_address.h"
#include "client/cli/object_file.h"
#include "client/cli/parameter_types.h"
#include "client/cli/session_flags.h"
#include "client/cli/source.h"
#include "client/cli/usage_error.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast::cli {
namespace {

struct RunFlags {
  std::string source;
  std::string kernel;
  std::string grid;
  std::string block;
  std::string cluster;
  SourceFlags how;
  uint32_t shared = 0;
  bool cooperative = false;
  bool memcheck = false;
  uint32_t repeat = 1;
  bool print = false;
  absl::Duration detach;  // 0: the session ends with the command
  SessionFlags session;
  std::vector<std::string> arguments;
};

struct Times {
  float kernel_ms = 0;  // all launches together
  absl::Duration total;
};

absl::StatusOr<Dim3> ParseDim3(const char* flag, const std::string& text) {
  absl::StatusOr<std::vector<uint64_t>> numbers = ParseNumbers(text, 3);
  if (!numbers.ok()) return UsageError(WithPrefix(flag, numbers.status()));
  numbers->resize(3, 1);
  for (const uint64_t number : *numbers) {
    if (number <= UINT32_MAX) continue;
    return UsageError(absl::OutOfRangeError(
        absl::StrCat(flag, ": ", number, " is over ", UINT32_MAX)));
  }
  return Dim3(static_cast<uint32_t>((*numbers)[0]),
              static_cast<uint32_t>((*numbers)[1]),
              static_cast<uint32_t>((*numbers)[2]));
}

absl::StatusOr<LaunchConfig> MakeConfig(const RunFlags& flags) {
  LaunchConfig config;
  HOLDFAST_ASSIGN_OR_RETURN(config.grid, ParseDim3("--grid", flags.grid));
  HOLDFAST_ASSIGN_OR_RETURN(config.block, ParseDim3("--block", flags.block));
  if (!flags.cluster.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(config.cluster,
                              ParseDim3("--cluster", flags.cluster));
  }
  config.dynamic_shared_bytes = flags.shared;
  config.cooperative = flags.cooperative;
  return config;
}

// Warns of arguments whose type is not the parameter's.
absl::Status WarnOfTypes(const RunFlags& flags, const Compilation& compilation,
                         const std::deque<RunArgument>& arguments) {
  const auto& symbols = compilation.object.symbols;
  const auto symbol = symbols.find(flags.kernel);
  std::string source;
  if (absl::EndsWith(flags.source, ".cu")) {
    HOLDFAST_ASSIGN_OR_RETURN(source, ReadFile(flags.source));
  }
  const std::vector<std::string> types = ParameterTypes(
      symbol == symbols.end() ? flags.kernel : symbol->second, source);
  if (types.size() != arguments.size()) return absl::OkStatus();
  for (size_t i = 0; i < types.size(); ++i) {
    const ArgumentSpec& spec = arguments[i].spec;
    const bool is_scalar = spec.kind == ArgumentSpec::Kind::kScalar;
    if (spec.kind == ArgumentSpec::Kind::kRaw) continue;
    const ElementType type = is_scalar ? spec.type : arguments[i].array.type;
    if (Fits(type, is_scalar, types[i])) continue;
    std::fprintf(
        stderr,
        "holdfast: warning: argument %zu of kernel %s, %s, has elements of "
        "type %s; its parameter is %s\n",
        i, flags.kernel.c_str(), flags.arguments[i].c_str(),
        std::string(Name(type)).c_str(), types[i].c_str());
  }
  return absl::OkStatus();
}

absl::Status LaunchAll(const Stream& stream, const RunFlags& flags,
                       const LaunchConfig& config, const Kernel& kernel,
                       const std::vector<Argument>& arguments) {
  for (uint32_t i = 0; i < flags.repeat; ++i) {
    HOLDFAST_RETURN_IF_ERROR(
        Launch(stream, config, kernel, std::span<const Argument>(arguments)));
  }
  return absl::OkStatus();
}

// Leaves the session to `holdfast attach`.
absl::Status Leave(const CommonOptions& options, const RunFlags& flags,
                   Session& session) {
  HOLDFAST_RETURN_IF_ERROR(session.Detach());
  if (options.json) {
    JsonWriter json;
    json.BeginObject()
        .Member("session_id", session.id())
        .Member("detached_seconds", absl::ToDoubleSeconds(flags.detach));
    std::puts(json.EndObject().text().c_str());
    return absl::OkStatus();
  }
  std::printf(
      "%s runs on; it ends in %s unless somebody attaches:\n"
      "holdfast attach %s --output=.\n",
      session.id().c_str(), absl::FormatDuration(flags.detach).c_str(),
      session.id().c_str());
  return absl::OkStatus();
}

// Launches between two events; returns the milliseconds between them.
absl::StatusOr<float> LaunchTimed(const Stream& stream, const RunFlags& flags,
                                  const LaunchConfig& config,
                                  const Kernel& kernel,
                                  const std::vector<Argument>& arguments) {
  HOLDFAST_ASSIGN_OR_RETURN(const Event start, stream.Record({.timing = true}));
  HOLDFAST_RETURN_IF_ERROR(LaunchAll(stream, flags, config, kernel, arguments));
  HOLDFAST_ASSIGN_OR_RETURN(const Event end, stream.Record({.timing = true}));
  return end.AwaitMillisecondsSince(start);
}

void PrintOutcome(const CommonOptions& options, const RunFlags& flags,
                  const Compilation& compilation, const Times& times,
                  const std::deque<RunArgument>& arguments) {
  const float each = times.kernel_ms / static_cast<float>(flags.repeat);
  const double total = absl::ToDoubleMilliseconds(times.total);
  if (!options.json) {
    std::printf("kernel %10.3f ms", each);
    if (flags.repeat > 1) std::printf(" each of %u launches", flags.repeat);
    std::printf("\ntotal  %10.3f ms\n", total);
  }
  JsonWriter json;
  json.BeginObject()
      .Member("kernel", flags.kernel)
      .Member("kernel_ms", each)
      .Member("launches", flags.repeat)
      .Member("compile_ms", absl::ToDoubleMilliseconds(compilation.time))
      .Member("cache_hit", compilation.cache_hit)
      .Member("total_ms", total)
      .BeginArray("outputs");
  for (const RunArgument& argument : arguments) {
    if (argument.spec.output.empty()) continue;
    const std::string form =
        Describe(argument.array.type, argument.array.shape);
    json.BeginObject()
        .Member("file", argument.spec.output)
        .Member("array", form);
    const std::string values =
        flags.print ? ElementsText(argument.array) : std::string();
    if (flags.print) json.Member("values", values);
    json.EndObject();
    if (options.json) continue;
    std::printf("wrote  %s: %s%s%s\n", argument.spec.output.c_str(),
                form.c_str(), flags.print ? " = " : "", values.c_str());
  }
  json.EndArray().EndObject();
  if (options.json) std::puts(json.text().c_str());
}

absl::Status Run(const CommonOptions& options, const RunFlags& flags,
                 const std::vector<std::string>& compiler_options) {
  const absl::Time begin = absl::Now();
  HOLDFAST_ASSIGN_OR_RETURN(const LaunchConfig config, MakeConfig(flags));
  HOLDFAST_RETURN_IF_ERROR(CheckCompilerOptions(compiler_options));
  SourceFlags how = flags.how;
  how.options = compiler_options;
  HOLDFAST_ASSIGN_OR_RETURN(std::deque<RunArgument> arguments,
                            ReadArguments(flags.arguments));

  SessionOptions opening =
      ToSessionOptions(options, flags.session, flags.kernel);
  if (flags.memcheck) {
    HOLDFAST_ASSIGN_OR_RETURN(opening.address, MemcheckAddress(options, "run"));
  }
  opening.detached_lifetime = flags.detach;
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, Session::Open(opening));
  const uint32_t ordinal =
      session->devices().empty() ? 0 : session->devices().front();
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      LoadSource(session->daemon(), flags.source, {flags.kernel}, how));
  PrintNotes(compilation);
  HOLDFAST_RETURN_IF_ERROR(WarnOfTypes(flags, compilation, arguments));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Kernel kernel,
      FindKernel(module, compilation.object, flags.kernel));
  HOLDFAST_RETURN_IF_ERROR(kernel.Describe(ordinal).status());

  const Device device = session->device(ordinal);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const bool detaches = flags.detach > absl::ZeroDuration();
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::vector<Argument> list,
      UploadArguments(device, stream, &arguments,
                      detaches ? BufferNames::kOutputs : BufferNames::kNone));
  if (detaches) {
    HOLDFAST_RETURN_IF_ERROR(LaunchAll(stream, flags, config, kernel, list));
    return Leave(options, flags, *session);
  }
  Times times;
  HOLDFAST_ASSIGN_OR_RETURN(times.kernel_ms,
                            LaunchTimed(stream, flags, config, kernel, list));
  HOLDFAST_RETURN_IF_ERROR(DownloadArguments(stream, &arguments));
  times.total = absl::Now() - begin;
  PrintOutcome(options, flags, compilation, times, arguments);
  return absl::OkStatus();
}

constexpr char kFooter[] =
    R"(Give one ARG for each parameter of the kernel, in order:
  TYPE:VALUE                a scalar: f32:2, u64:50000, i8:-1, bool:true;
                            types: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16
                            f32 f64
  in:FILE.npy               a buffer with the array in the file
  in:arange:TYPE[N,...]     a buffer with 0, 1, 2, ...; also in:zeros:, in:ones:
  out:FILE.npy:TYPE[N,...]  a buffer of zeros, written to the file afterwards
  inout:FILE.npy:OUT.npy    a buffer with the array in FILE.npy, written to
                            OUT.npy afterwards; also
                            inout:arange:TYPE[N,...]:OUT.npy
  scratch:BYTES             a buffer of zeros
  raw:HEX                   a struct, byte for byte

Other options go to NVRTC, one word each: --fmad=false -DN=4 --std=c++17.
With --repeat, each launch works on the data of the launch before it. The
output of printf in the kernel goes to standard output; with --json, to standard
error.

Example:
  holdfast run add.cu --kernel 'vector_add<float>' --grid 196 --block 256 \
    in:a.npy in:b.npy 'out:c.npy:f32[50000]' u64:50000)";

void AddFlags(CLI::App* command, RunFlags* flags) {
  command
      ->add_option(
          "FILE", flags->source,
          absl::StrCat("The kernel's file (", EndingsFor(ObjectUse::kLoad),
                       "), FORMAT:FILE, or sha256:HEX of an object in "
                       "the daemon's store"))
      ->required();
  command
      ->add_option("--kernel", flags->kernel,
                   "The kernel's name in the source, a template instance "
                   "('vector_add<float>'), or the name in the object")
      ->required();
  command->add_option("--grid", flags->grid, "Blocks: X[,Y[,Z]]")->required();
  command->add_option("--block", flags->block, "Threads: X[,Y[,Z]]")
      ->required();
  command->add_option("--shared", flags->shared,
                      "Dynamic shared memory in bytes");
  command->add_option("--cluster", flags->cluster,
                      "Blocks of a cluster: X[,Y[,Z]]");
  command->add_flag("--cooperative", flags->cooperative,
                    "Launch cooperatively: all blocks are resident at once");
  command->add_flag("--memcheck", flags->memcheck, kMemcheckHelp);
  command->add_option("--repeat", flags->repeat, "The number of launches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag(
      "--print", flags->print,
      "Print the elements of the outputs; of a large output only the first");
  AddDurationFlag(
      command, "--detach", &flags->detach,
      "Leave the session once the kernel is launched. The session stays "
      "without a client for this time (30m, 8h; at most the daemon's "
      "--detached-session-limit), and `holdfast attach` fetches the outputs");
  AddSessionFlags(command, &flags->session);
  command->add_option("--arch", flags->how.arch,
                      "sm_90, compute_90, ... (default: that of device 0)");
  AddSourceFlags(command, &flags->how);
  command->add_option("ARG", flags->arguments, "See below");
  command->footer(kFooter);
}

}  // namespace

void AddRunCommand(CLI::App* app, CommonOptions* options,
                   absl::Status* status) {
  auto flags = std::make_shared<RunFlags>();
  auto self = std::make_shared<CLI::App*>();
  CLI::App* command = AddCommand(
      app, options, "run", "Run a kernel on NumPy files",
      [options, flags, self] {
        return Run(*options, *flags, (*self)->remaining());
      },
      status);
  *self = command;
  command->allow_extras();
  AddFlags(command, flags.get());
}

}  // namespace holdfast::cli
