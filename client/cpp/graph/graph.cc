// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteDestroy(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::fields::Command::kDestroyGraph, [&] {
    writer.Write(v1::fields::DestroyGraph::kGraph, handle);
  });
}

}  // namespace

absl::StatusOr<Graph> Graph::Create(const Session& session,
                                    const GraphDefinition& definition) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          session.state(), HandleKind::kGraph,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kCreateGraph, [&] {
              using Fields = v1::fields::CreateGraph;
              writer.Write(Fields::kGraph, handle);
              writer.Message(Fields::kDefinition,
                             [&] { definition.Encode(writer); });
            });
          },
          WriteDestroy));
  return Graph(std::move(resource));
}

absl::StatusOr<Graph> Graph::Clone() const {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          session(), HandleKind::kGraph,
          [&](uint64_t clone, WireWriter& writer) {
            writer.Message(v1::fields::Command::kCloneGraph, [&] {
              writer.Write(v1::fields::CloneGraph::kGraph, clone);
              writer.Write(v1::fields::CloneGraph::kSource, handle());
            });
          },
          WriteDestroy));
  return Graph(std::move(resource));
}

absl::StatusOr<GraphExec> Graph::Instantiate(
    const GraphExecOptions& options) const {
  return GraphExec::Create(session(), handle(), options);
}

absl::StatusOr<std::string> Graph::Draw(bool verbose) const {
  std::string drawing;
  for (;;) {
    HOLDFAST_ASSIGN_OR_RETURN(const v1::Result result,
                              session()->queue.Call([&](v1::Command& command) {
                                v1::DrawGraph& draw =
                                    *command.mutable_draw_graph();
                                draw.set_graph(handle());
                                draw.set_verbose(verbose);
                                draw.set_offset(drawing.size());
                              }));
    const v1::GraphDrawing& piece = result.drawing();
    drawing += piece.dot();
    if (drawing.size() >= piece.size()) return drawing;
    if (piece.dot().empty()) {
      return absl::InternalError(absl::StrCat(
          "the daemon sent ", drawing.size(), " of ", piece.size(), " bytes"));
    }
  }
}

}  // namespace holdfast
