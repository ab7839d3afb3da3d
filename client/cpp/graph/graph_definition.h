// SPDX-License-Identifier: Apache-2.0
//
// A graph as a value: nodes with their parameters, and which come after which.
//
//   GraphDefinition definition;
//   HOLDFAST_ASSIGN_OR_RETURN(const GraphNode a,
//                             definition.Add(FillNode(x, 0.0f)));
//   HOLDFAST_ASSIGN_OR_RETURN(
//       const GraphNode b,
//       definition.Add(KernelNode({.grid = 64, .block = 256}, step, x), {a}));
//   HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
//                             Graph::Create(device, definition));
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_DEFINITION_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_DEFINITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/graph/condition.h"
#include "client/cpp/graph/graph_node.h"
#include "client/cpp/graph/node_params.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// Copying it copies the whole. It names kernels, buffers and events of a
// session by their handles and does not keep them alive; Rebind (rebind.h)
// makes one for another session of it. Not thread-safe.
class GraphDefinition {
 public:
  GraphDefinition() = default;
  // INVALID_ARGUMENT names the node: see CheckDefinition.
  static absl::StatusOr<GraphDefinition> FromProto(v1::GraphDefinition message);

  // Adds a node that runs when all of `after` have finished.
  // INVALID_ARGUMENT, OUT_OF_RANGE: the parameters are wrong, or a node of
  // `after` is unknown or named twice.
  absl::StatusOr<GraphNode> Add(NodeParams params,
                                const std::vector<GraphNode>& after = {});
  // Declares a condition. It has `default_value` at each launch of the graph;
  // without one, the value that was set last.
  GraphCondition CreateCondition(std::optional<uint32_t> default_value = {});

  // Gives a node other parameters, of any kind.
  absl::Status Set(GraphNode node, NodeParams params);
  // Removes a node with its edges, as cuGraphDestroyNode does: what came after
  // it no longer waits for what came before it.
  absl::Status Remove(GraphNode node);

  // In the order of the definition: each stands behind those that it is after.
  std::vector<GraphNode> nodes() const;
  size_t size() const { return static_cast<size_t>(message_.nodes_size()); }
  // NOT_FOUND: no such node. The pointer is valid until the next change.
  absl::StatusOr<const v1::GraphNode*> Find(GraphNode node) const;

  const v1::GraphDefinition& proto() const { return message_; }

 private:
  // The node's message, with what it holds made fit for this definition.
  absl::StatusOr<v1::GraphNode> Adapt(NodeParams params) const;
  absl::StatusOr<int> IndexOf(GraphNode node) const;

  v1::GraphDefinition message_;
  absl::flat_hash_map<uint32_t, int> index_;  // by id
  uint32_t next_id_ = 1;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_DEFINITION_H_
