// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/node_updates.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/error_detail.h"

namespace holdfast {
namespace {

// Appends an update of one node, whose change `write_change` writes.
void Append(GraphNode node, const std::vector<GraphNode>& within,
            absl::FunctionRef<void(WireWriter&)> write_change,
            std::string* fields) {
  using Fields = v1::fields::GraphNodeUpdate;
  // Its memory is used again by the next update.
  static thread_local WireWriter writer(256);
  writer.Truncate(0);
  writer.Message(v1::fields::GraphNodeUpdates::kNodes, [&] {
    for (const GraphNode& child : within) {
      writer.Write(Fields::kWithin, child.id);
    }
    writer.Write(Fields::kId, node.id);
    write_change(writer);
  });
  fields->append(writer.data(), writer.size());
}

}  // namespace

void NodeUpdates::Set(GraphNode node, NodeParams params,
                      const std::vector<GraphNode>& within) {
  if (!params.status().ok()) {
    status_.Update(WithPrefix(absl::StrCat("node ", node.id), params.status()));
    return;
  }
  Append(
      node, within,
      [&params](WireWriter& writer) {
        writer.Message(v1::fields::GraphNodeUpdate::kNode,
                       [&] { writer.Append(params.fields()); });
      },
      &fields_);
}

void NodeUpdates::SetEnabled(GraphNode node, bool enabled,
                             const std::vector<GraphNode>& within) {
  Append(
      node, within,
      [enabled](WireWriter& writer) {
        writer.Write(v1::fields::GraphNodeUpdate::kEnabled, enabled);
      },
      &fields_);
}

}  // namespace holdfast
