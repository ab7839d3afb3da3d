// SPDX-License-Identifier: Apache-2.0
#include "client/cli/graph_run.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/compilation_report.h"
#include "client/cli/file.h"
#include "client/cli/find_kernel.h"
#include "client/cli/graph_source.h"
#include "client/cli/json_writer.h"
#include "client/cli/kernel_buffers.h"
#include "client/cli/source.h"
#include "client/cli/usage_error.h"
#include "client/cpp/graph/definition/definition_walk.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/rebind.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// A session's resources for the numbers that the definition uses.
struct Resources {
  std::vector<Kernel> kernels;
  std::deque<RunArgument> arguments;  // of the buffers that are not scratch
  std::vector<Buffer> scratch;
  std::vector<Event> events;
  GraphBinding binding;
};

struct Times {
  // Milliseconds, by the device.
  std::vector<float> launches;
  absl::Duration total;
};

std::string BufferName(const v1::FileBuffer& buffer) {
  return buffer.name().empty() ? absl::StrCat("buffer ", buffer.id())
                               : buffer.name();
}

// An argument has to be an array that fits its buffer.
absl::Status CheckArguments(const v1::GraphFile& file,
                            const std::deque<RunArgument>& arguments) {
  size_t next = 0;
  for (const v1::FileBuffer& buffer : file.buffers()) {
    if (buffer.scratch()) continue;
    if (next == arguments.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(BufferName(buffer),
                       " of the graph has no argument (in:, out:, "
                       "inout: or scratch:)"));
    }
    const RunArgument& argument = arguments[next++];
    if (argument.spec.kind != ArgumentSpec::Kind::kBuffer) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", next, ", for ", BufferName(buffer),
                       ": a graph is given arrays only"));
    }
    HOLDFAST_ASSIGN_OR_RETURN(
        const uint64_t size,
        ByteSize(argument.array.type, argument.array.shape));
    if (buffer.size() == 0 || size == buffer.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("argument ", next, ": ", BufferName(buffer), " has ",
                     buffer.size(), " bytes, the array ", size));
  }
  if (next == arguments.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the graph takes ", next, " arguments, not ", arguments.size()));
}

absl::Status LoadKernels(Session& session, const v1::GraphFile& file,
                         const std::string& path, Resources* resources) {
  const auto folder = std::filesystem::path(path).parent_path();
  for (const v1::FileKernel& kernel : file.kernels()) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string source,
                              GraphSource(folder, kernel.source()));
    const auto compilation = LoadSource(
        session.daemon(), source, {kernel.name()},
        {.options = {kernel.options().begin(), kernel.options().end()}});
    if (!compilation.ok()) return NoUsageError(compilation.status());
    PrintNotes(*compilation);
    HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                              session.Load(compilation->object));
    HOLDFAST_ASSIGN_OR_RETURN(
        Kernel loaded, FindKernel(module, compilation->object, kernel.name()));
    resources->binding.kernels[kernel.id()] = loaded.handle();
    resources->kernels.push_back(std::move(loaded));
  }
  return absl::OkStatus();
}

absl::Status MakeScratch(const Device& device, const Stream& stream,
                         const v1::FileBuffer& wanted, Resources* resources) {
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                            device.Allocate(wanted.size(), stream));
  if (wanted.size() > 0) {
    HOLDFAST_RETURN_IF_ERROR(buffer.Fill(uint8_t{0}, stream));
  }
  resources->binding.buffers[wanted.id()] = buffer.handle();
  resources->scratch.push_back(std::move(buffer));
  return absl::OkStatus();
}

// Names for the memory that nodes allocate.
absl::Status ReserveAllocations(const Device& device,
                                const v1::GraphDefinition& definition,
                                Resources* resources) {
  absl::Status status;
  ForEachDefinition(definition, [&](const v1::GraphDefinition& level) {
    for (const v1::GraphNode& node : level.nodes()) {
      if (!node.has_allocation() || !status.ok()) continue;
      auto memory = Buffer::OfGraph(device.session(), node.allocation().size());
      status = memory.status();
      if (!status.ok()) continue;
      resources->binding.buffers[node.allocation().buffer()] = memory->handle();
      resources->scratch.push_back(*std::move(memory));
    }
  });
  return status;
}

absl::Status MakeBuffers(const Device& device, const Stream& stream,
                         const v1::GraphFile& file, Resources* resources) {
  HOLDFAST_RETURN_IF_ERROR(
      UploadArguments(device, stream, &resources->arguments).status());
  size_t next = 0;
  for (const v1::FileBuffer& buffer : file.buffers()) {
    if (buffer.scratch()) {
      HOLDFAST_RETURN_IF_ERROR(MakeScratch(device, stream, buffer, resources));
    } else {
      resources->binding.buffers[buffer.id()] =
          resources->arguments[next++].buffer[0].handle();
    }
  }
  return ReserveAllocations(device, file.definition(), resources);
}

absl::Status MakeEvents(const Device& device, const v1::GraphFile& file,
                        Resources* resources) {
  for (const v1::FileEvent& wanted : file.events()) {
    HOLDFAST_ASSIGN_OR_RETURN(Event event, device.CreateEvent());
    resources->binding.events[wanted.id()] = event.handle();
    resources->events.push_back(std::move(event));
  }
  return absl::OkStatus();
}

// Launches with an event before the first and after each.
absl::StatusOr<std::vector<float>> LaunchTimed(const Stream& stream,
                                               const GraphExec& exec,
                                               uint32_t repeat) {
  std::vector<Event> events;
  for (uint32_t i = 0; i <= repeat; ++i) {
    if (i > 0) HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
    HOLDFAST_ASSIGN_OR_RETURN(Event event, stream.Record({.timing = true}));
    events.push_back(std::move(event));
  }
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  std::vector<float> times;
  for (uint32_t i = 1; i <= repeat; ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(const float ms,
                              events[i].MillisecondsSince(events[i - 1]));
    times.push_back(ms);
  }
  return times;
}

void PrintTimes(const Times& times, size_t nodes) {
  std::vector<float> sorted = times.launches;
  std::sort(sorted.begin(), sorted.end());
  std::printf("graph  %10.3f ms, %zu nodes", sorted[sorted.size() / 2], nodes);
  if (sorted.size() > 1) {
    std::printf(", median of %zu launches (first %.3f, least %.3f, most %.3f)",
                sorted.size(), times.launches[0], sorted.front(),
                sorted.back());
  }
  std::printf("\ntotal  %10.3f ms\n", absl::ToDoubleMilliseconds(times.total));
}

void PrintOutcome(const CommonOptions& options, const Times& times,
                  size_t nodes, const std::deque<RunArgument>& arguments) {
  if (!options.json) PrintTimes(times, nodes);
  JsonWriter json;
  json.BeginObject().Member("nodes", nodes).BeginArray("launch_ms");
  for (const float ms : times.launches) json.Value(ms);
  json.EndArray()
      .Member("total_ms", absl::ToDoubleMilliseconds(times.total))
      .BeginArray("outputs");
  for (const RunArgument& argument : arguments) {
    if (argument.spec.output.empty()) continue;
    const std::string form =
        Describe(argument.array.type, argument.array.shape);
    json.BeginObject()
        .Member("file", argument.spec.output)
        .Member("array", form)
        .EndObject();
    if (options.json) continue;
    std::printf("wrote  %s: %s\n", argument.spec.output.c_str(), form.c_str());
  }
  json.EndArray().EndObject();
  if (options.json) std::puts(json.text().c_str());
}

absl::StatusOr<GraphExec> MakeExec(const Session& session,
                                   const v1::GraphFile& file,
                                   const GraphBinding& binding,
                                   const std::string& dot) {
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition numbered,
                            GraphDefinition::FromProto(file.definition()));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition,
                            Rebind(numbered, binding));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(GraphExec exec, graph.Instantiate());
  // Nothing is launched of what could not be made.
  HOLDFAST_RETURN_IF_ERROR(session.Synchronize());
  if (!dot.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string drawing, graph.Draw(true));
    HOLDFAST_RETURN_IF_ERROR(WriteFile(dot, drawing));
  }
  return exec;
}

}  // namespace

absl::Status RunGraph(const CommonOptions& options, const GraphRunFlags& flags,
                      const v1::GraphFile& file) {
  const absl::Time begin = absl::Now();
  Resources resources;
  HOLDFAST_ASSIGN_OR_RETURN(resources.arguments,
                            ReadArguments(flags.arguments));
  HOLDFAST_RETURN_IF_ERROR(CheckArguments(file, resources.arguments));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open(ToSessionOptions(
          options, flags.session,
          std::filesystem::path(flags.file).filename().string())));
  const Device device = session->device(
      session->devices().empty() ? 0 : session->devices().front());
  HOLDFAST_RETURN_IF_ERROR(LoadKernels(*session, file, flags.file, &resources));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_RETURN_IF_ERROR(MakeBuffers(device, stream, file, &resources));
  HOLDFAST_RETURN_IF_ERROR(MakeEvents(device, file, &resources));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphExec exec,
      MakeExec(*session, file, resources.binding, flags.dot));
  HOLDFAST_RETURN_IF_ERROR(exec.Upload(stream));
  Times times;
  HOLDFAST_ASSIGN_OR_RETURN(times.launches,
                            LaunchTimed(stream, exec, flags.repeat));
  HOLDFAST_RETURN_IF_ERROR(DownloadArguments(stream, &resources.arguments));
  times.total = absl::Now() - begin;
  PrintOutcome(options, times, file.definition().nodes_size(),
               resources.arguments);
  return absl::OkStatus();
}

}  // namespace holdfast::cli
