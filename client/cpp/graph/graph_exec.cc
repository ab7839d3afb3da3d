// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph_exec.h"

#include <utility>

#include "client/cpp/graph/graph.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<GraphExec> GraphExec::Create(
    std::shared_ptr<SessionState> session, uint64_t graph,
    const GraphExecOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kGraphExec,
          [&](uint64_t handle, WireWriter& writer) {
            v1::Command command;
            v1::InstantiateGraph& instantiate =
                *command.mutable_instantiate_graph();
            instantiate.set_graph_exec(handle);
            instantiate.set_graph(graph);
            instantiate.set_auto_free_on_launch(options.auto_free_on_launch);
            instantiate.set_use_node_priority(options.use_node_priority);
            writer.Fields(command);
          },
          [](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kDestroyGraphExec, [&] {
              writer.Write(v1::fields::DestroyGraphExec::kGraphExec, handle);
            });
          }));
  return GraphExec(std::move(resource));
}

absl::Status GraphExec::Launch(const Stream& stream) const {
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(v1::fields::Command::kLaunchGraph, [&] {
      using Fields = v1::fields::LaunchGraph;
      writer.Write(Fields::kGraphExec, handle());
      writer.Write(Fields::kStream, stream.handle());
    });
  });
}

absl::Status GraphExec::Upload(const Stream& stream) const {
  return stream.Submit([&](v1::Command& command) {
    command.mutable_upload_graph()->set_graph_exec(handle());
    command.mutable_upload_graph()->set_stream(stream.handle());
  });
}

absl::Status GraphExec::Update(const Graph& graph) const {
  return session()
      ->queue
      .Submit([&](v1::Command& command) {
        command.mutable_update_graph_exec()->set_graph_exec(handle());
        command.mutable_update_graph_exec()->set_graph(graph.handle());
      })
      .status();
}

absl::Status GraphExec::Update(const NodeUpdates& updates) const {
  HOLDFAST_RETURN_IF_ERROR(updates.status());
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::fields::Command::kUpdateGraphExec, [&] {
          using Fields = v1::fields::UpdateGraphExec;
          writer.Write(Fields::kGraphExec, handle());
          writer.Message(Fields::kNodes,
                         [&] { writer.Append(updates.fields()); });
        });
      })
      .status();
}

absl::Status GraphExec::Update(GraphNode node, NodeParams params) const {
  NodeUpdates updates;
  updates.Set(node, std::move(params));
  return Update(updates);
}

absl::Status GraphExec::SetEnabled(GraphNode node, bool enabled) const {
  NodeUpdates updates;
  updates.SetEnabled(node, enabled);
  return Update(updates);
}

}  // namespace holdfast
