// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NODE_UPDATES_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NODE_UPDATES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/graph/definition/graph_node.h"
#include "client/cpp/graph/node_params.h"

namespace holdfast {

// Changes to nodes of an instantiated graph that are made together
// (GraphExec::Update). If one change is refused, none is made. In each method,
// `within` has the child nodes that contain the node, outermost first; empty
// for a node of the graph itself.
class NodeUpdates {
 public:
  // Sets new parameters of a node, of the same kind.
  void Set(GraphNode node, NodeParams params,
           const std::vector<GraphNode>& within = {});
  void SetEnabled(GraphNode node, bool enabled,
                  const std::vector<GraphNode>& within = {});

  // The first error in the parameters.
  const absl::Status& status() const { return status_; }
  // The fields of GraphNodeUpdates, as they are sent.
  absl::string_view fields() const { return fields_; }

 private:
  absl::Status status_;
  std::string fields_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NODE_UPDATES_H_
