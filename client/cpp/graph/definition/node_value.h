// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_VALUE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

namespace v1 {
class GraphNode;
}  // namespace v1

// The parameters of one node: its work, without its dependencies. The class is
// a value type. It stores the parameters encoded, so that a definition of many
// nodes can be sent without a message object for each node. The functions that
// make parameters (node_params.h, nested_nodes.h) never fail: this object
// stores their error, and the call that uses the parameters reports it.
class NodeParams {
 public:
  // Ignores the node's id and dependencies.
  explicit NodeParams(v1::GraphNode node);
  explicit NodeParams(absl::Status error) : status_(std::move(error)) {}
  // `fields` are the encoded fields of a GraphNode, without id, dependencies,
  // child graph and branches.
  static NodeParams FromFields(absl::string_view fields);

  // Returns the first error that was found; OK if there is none.
  const absl::Status& status() const { return status_; }
  // Returns the parameters as a message. The message has no id and no
  // dependencies, but includes nested graphs.
  v1::GraphNode proto() const;
  // Returns the encoded fields of the message that proto() returns.
  absl::string_view fields() const { return fields_; }
  // Returns true for nodes with a child graph or branches.
  bool holds_graphs() const { return nested_ != nullptr; }

  // Sets the device whose context runs the node, as in KernelNode(...).On(1).
  // The default is the session's first device. If On is called several times,
  // the last call counts.
  NodeParams On(uint32_t device) &&;

 private:
  NodeParams() = default;

  absl::Status status_;
  std::string fields_;
  // The message of a node that holds graphs; null for other nodes. Such a node
  // is kept as a message because its conditions may get other ids.
  std::shared_ptr<const v1::GraphNode> nested_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_VALUE_H_
