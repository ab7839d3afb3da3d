// SPDX-License-Identifier: Apache-2.0
//
// A graph as a value: nodes with their parameters and dependencies.
//
//   GraphDefinition definition;
//   HOLDFAST_ASSIGN_OR_RETURN(const GraphNode a,
//                             definition.Add(FillNode(x, 0.0f)));
//   HOLDFAST_ASSIGN_OR_RETURN(
//       const GraphNode b,
//       definition.Add(KernelNode({.grid = 64, .block = 256}, step, x), {a}));
//   HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
//                             Graph::Create(*session, definition));
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_DEFINITION_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_DEFINITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/graph/definition/condition.h"
#include "client/cpp/graph/definition/conditions.h"
#include "client/cpp/graph/definition/graph_node.h"
#include "client/cpp/graph/definition/node_value.h"

namespace holdfast {

namespace v1 {
class GraphCondition;
class GraphDefinition;
class GraphNode;
}  // namespace v1

class WireWriter;

// A view of a node of a definition, made by GraphDefinition::node. Valid until
// the definition changes.
struct DefinedNode {
  uint32_t id = 0;
  std::span<const uint32_t> after;  // ids
  const NodeParams& params;
};

// A graph as a value; a copy copies all nodes. It names the kernels, buffers
// and events of a session by their handles, and does not keep them alive.
// Rebind (rebind.h) converts it for another session.
//
// Not thread-safe. An operation that fails changes nothing.
class GraphDefinition {
 public:
  GraphDefinition() = default;
  // Returns the definition that `message` has. INVALID_ARGUMENT, OUT_OF_RANGE:
  // a node is wrong, as CheckPart documents; the message names the node.
  static absl::StatusOr<GraphDefinition> FromProto(
      const v1::GraphDefinition& message);

  // Adds a node that runs when all of `after` have finished.
  // INVALID_ARGUMENT, OUT_OF_RANGE: the parameters are wrong, or a node of
  // `after` is named twice. NOT_FOUND: a node of `after` is not in this
  // definition. Returns a name that is valid in this definition and its copies.
  absl::StatusOr<GraphNode> Add(NodeParams params,
                                const std::vector<GraphNode>& after = {});
  // Declares a condition. At each launch of the graph the condition has
  // `default_value`; without a default, it has the value that was set last. Its
  // id is new in this process, so that definitions can be put into each other.
  GraphCondition CreateCondition(std::optional<uint32_t> default_value = {});

  // Gives a node other parameters, of any kind. NOT_FOUND: there is no such
  // node. INVALID_ARGUMENT as Add.
  absl::Status Set(GraphNode node, NodeParams params);
  // Removes a node with its edges, as cuGraphDestroyNode does: its successors
  // no longer wait for its predecessors. NOT_FOUND: there is no such node.
  absl::Status Remove(GraphNode node);

  // Returns the nodes in the order of the definition, in which each node
  // follows its dependencies.
  std::vector<GraphNode> nodes() const;
  // The number of nodes, without the nodes of child graphs and branches.
  size_t size() const { return nodes_.size(); }
  // Returns the node at this index of nodes(). REQUIRES: index < size().
  DefinedNode node(size_t index) const;

  // Returns the definition as a message. Each call makes the message, which
  // takes time and memory for each node.
  v1::GraphDefinition proto() const;
  // Writes the fields of the definition's message, without making the message.
  void Encode(WireWriter& writer) const;

 private:
  struct Node {
    uint32_t id = 0;
    absl::InlinedVector<uint32_t, 2> after;
    NodeParams params;

    v1::GraphNode ToMessage() const;
  };
  struct Condition {
    uint32_t id = 0;
    std::optional<uint32_t> default_value;

    v1::GraphCondition ToMessage() const;
  };

  // Adapts parameters to this definition: conditions of nested graphs get new
  // ids if theirs are used already.
  absl::StatusOr<NodeParams> Adapt(NodeParams params);
  // Returns the node's index in nodes_. NOT_FOUND: there is no such node.
  absl::StatusOr<size_t> IndexOf(GraphNode node) const;

  std::vector<Node> nodes_;
  absl::flat_hash_map<uint32_t, size_t> index_;  // by id
  std::vector<Condition> conditions_;
  // Ids of conditions in nodes that were replaced or removed stay used.
  ConditionIds used_conditions_;
  uint32_t next_id_ = 1;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_DEFINITION_H_
