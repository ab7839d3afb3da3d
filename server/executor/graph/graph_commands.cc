// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/graph/built_graph.h"
#include "server/executor/graph/drawing.h"
#include "server/executor/graph/graph_builder.h"
#include "server/executor/graph/graph_instance.h"
#include "server/executor/submission/kernel_watch.h"

namespace holdfast::executor {
namespace {

absl::StatusOr<GraphInstance*> Find(Resources& resources, uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(GraphExecResource * found,
                            resources.graph_execs.Find(handle));
  return found->instance.get();
}

absl::StatusOr<std::shared_ptr<const BuiltGraph>> FindGraph(
    Resources& resources, uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(GraphResource * found,
                            resources.graphs.Find(handle));
  return found->graph;
}

// As CUDA has it: two instances would run in the same memory. `instance` may be
// the one that there is.
absl::Status CheckAlone(const GraphResource& graph,
                        const GraphInstance* instance = nullptr) {
  const auto other = graph.instance.lock();
  if (!graph.graph->allocates() || other == nullptr ||
      other.get() == instance) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "a graph with allocations has one instance at a time: destroy the other "
      "first");
}

// Gives the exec the parameters of a graph, whose instance it becomes.
absl::Status UpdateWhole(Resources& resources, GraphExecResource& exec,
                         uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(GraphResource * found,
                            resources.graphs.Find(handle));
  HOLDFAST_RETURN_IF_ERROR(CheckAlone(*found, exec.instance.get()));
  HOLDFAST_RETURN_IF_ERROR(exec.instance->Update(resources, found->graph));
  found->instance = exec.instance;
  return absl::OkStatus();
}

// A drawing is fetched in pieces, so it is kept until the last one was: drawing
// the whole for each would take time in proportion to its square. A session
// keeps one.
const std::string& DrawingOf(Resources& resources, const BuiltGraph& graph,
                             bool verbose) {
  auto& kept = graph.drawing();
  if (kept == nullptr || kept->verbose != verbose) {
    resources.graphs.ForEach(
        [](GraphResource& other) { other.graph->drawing() = nullptr; });
    kept = std::make_unique<const BuiltGraph::Drawing>(
        BuiltGraph::Drawing{verbose, Draw(graph, verbose)});
  }
  return kept->text;
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::CreateGraph& command) {
  Resources& resources = context.resources;
  return Create(resources.graphs, command.graph(),
                [&]() -> absl::StatusOr<GraphResource> {
                  HOLDFAST_ASSIGN_OR_RETURN(
                      auto graph,
                      GraphBuilder(resources).Build(command.definition()));
                  return GraphResource{std::move(graph), {}};
                });
}

// A graph never changes, so a clone is another handle of it.
absl::Status Handle(const CommandContext& context,
                    const v1::CloneGraph& command) {
  Resources& resources = context.resources;
  return Create(resources.graphs, command.graph(),
                [&]() -> absl::StatusOr<GraphResource> {
                  HOLDFAST_ASSIGN_OR_RETURN(
                      auto graph, FindGraph(resources, command.source()));
                  if (graph->allocates()) {
                    return absl::FailedPreconditionError(
                        "a graph with allocations cannot be cloned: both would "
                        "have the same memory");
                  }
                  return GraphResource{std::move(graph), {}};
                });
}

absl::Status Handle(const CommandContext& context,
                    const v1::DestroyGraph& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(auto graph, resources.graphs.Take(command.graph()));
  if (graph.has_value()) {
    BuiltGraph::Release(resources, std::move(graph->graph));
  }
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::InstantiateGraph& command) {
  Resources& resources = context.resources;
  return Create(resources.graph_execs, command.graph_exec(),
                [&]() -> absl::StatusOr<GraphExecResource> {
                  HOLDFAST_ASSIGN_OR_RETURN(
                      GraphResource * found,
                      resources.graphs.Find(command.graph()));
                  HOLDFAST_RETURN_IF_ERROR(CheckAlone(*found));
                  HOLDFAST_ASSIGN_OR_RETURN(
                      auto instance,
                      GraphInstance::Create(resources, found->graph, command));
                  found->instance = instance;
                  return GraphExecResource{std::move(instance)};
                });
}

absl::Status Handle(const CommandContext& context,
                    const v1::UpdateGraphExec& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(GraphExecResource * exec,
                            resources.graph_execs.Find(command.graph_exec()));
  switch (command.change_case()) {
    case v1::UpdateGraphExec::kGraph:
      return UpdateWhole(resources, *exec, command.graph());
    case v1::UpdateGraphExec::kNodes:
      return exec->instance->Update(resources, command.nodes());
    case v1::UpdateGraphExec::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an update that changes nothing");
}

absl::Status Handle(const CommandContext& context,
                    const v1::UploadGraph& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(GraphInstance * instance,
                            Find(resources, command.graph_exec()));
  return instance->Upload(*stream->stream);
}

absl::Status Handle(const CommandContext& context,
                    const v1::LaunchGraph& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(GraphInstance * instance,
                            Find(resources, command.graph_exec()));
  const auto launch = [&] {
    return instance->Launch(resources, *stream->stream, command.stream());
  };
  KernelWatch* const watch = resources.kernel_watch();
  if (watch == nullptr) [[likely]]
    return launch();
  return watch->Launch(*stream->stream,
                       {.sequence = context.sequence,
                        .device = stream->device,
                        .graph_exec = command.graph_exec(),
                        .kernels = instance->kernels()},
                       launch);
}

absl::Status Handle(const CommandContext& context,
                    const v1::DestroyGraphExec& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(auto exec,
                            resources.graph_execs.Take(command.graph_exec()));
  if (exec.has_value()) {
    GraphInstance::Release(resources, std::move(exec->instance));
  }
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::DrawGraph& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto graph,
                            FindGraph(context.resources, command.graph()));
  const std::string& dot =
      DrawingOf(context.resources, *graph, command.verbose());
  const size_t at = std::min<uint64_t>(command.offset(), dot.size());
  v1::Result result;
  result.mutable_drawing()->set_dot(dot.substr(at, kMaxInlineBytes));
  result.mutable_drawing()->set_size(dot.size());
  if (dot.size() - at <= kMaxInlineBytes) graph->drawing() = nullptr;
  context.Reply(std::move(result));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
