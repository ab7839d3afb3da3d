// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NODE_VALUE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NODE_VALUE_H_

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

// The parameters of one node: its work, without its dependencies. A value, kept
// encoded, so that sending a definition of many nodes needs no message object
// for each. The functions that make parameters (node_params.h, nested_nodes.h)
// never fail: an error is kept here and reported by the call that uses them.
class NodeParams {
 public:
  // Ignores the node's id and dependencies.
  explicit NodeParams(v1::GraphNode node);
  explicit NodeParams(absl::Status error) : status_(std::move(error)) {}
  // `fields` are the encoded fields of a GraphNode, without id, dependencies,
  // child graph and branches.
  static NodeParams FromFields(absl::string_view fields);

  // The first error that was found; OK if there is none.
  const absl::Status& status() const { return status_; }
  // Returns the parameters as a message, without id and dependencies; with
  // nested graphs.
  v1::GraphNode proto() const;
  // The encoded fields of that message.
  absl::string_view fields() const { return fields_; }
  // Returns true for nodes with a child graph or branches.
  bool holds_graphs() const { return nested_ != nullptr; }

  // Sets the device whose context runs the node; the default is the session's
  // first. Used as KernelNode(...).On(1). The last call counts.
  NodeParams On(uint32_t device) &&;

 private:
  NodeParams() = default;

  absl::Status status_;
  std::string fields_;
  // The message of a node that holds graphs: conditions in it may get other
  // ids. Otherwise null.
  std::shared_ptr<const v1::GraphNode> nested_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NODE_VALUE_H_
