// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/node_updates.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"

namespace holdfast {

v1::GraphNodeUpdate& NodeUpdates::Add(GraphNode node,
                                      const std::vector<GraphNode>& within) {
  v1::GraphNodeUpdate& update = *message_.add_nodes();
  for (const GraphNode& child : within) update.add_within(child.id);
  update.set_id(node.id);
  return update;
}

void NodeUpdates::Set(GraphNode node, NodeParams params,
                      const std::vector<GraphNode>& within) {
  if (!params.status().ok()) {
    status_.Update(WithPrefix(absl::StrCat("node ", node.id), params.status()));
    return;
  }
  *Add(node, within).mutable_node() = std::move(params).proto();
}

void NodeUpdates::SetEnabled(GraphNode node, bool enabled,
                             const std::vector<GraphNode>& within) {
  Add(node, within).set_enabled(enabled);
}

}  // namespace holdfast
