// SPDX-License-Identifier: Apache-2.0
//
// Makes a CUDA graph from a definition. A child graph is added empty and then
// filled in place, as CUDA does for the branches of conditional nodes. So the
// same code makes every node, and the handle of every node is known.
//
// Runs on the submission thread, and takes no lock.
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_BUILDER_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/graph.h"
#include "core/cuda/graph_node.h"
#include "cuda.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "proto/node_path.h"
#include "server/executor/command/operand_scope.h"
#include "server/executor/graph/built_graph.h"
#include "server/executor/graph/graph_allocations.h"

namespace holdfast::executor {

// Builds one graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(Resources& resources) : resources_(resources) {}

  // Checks the whole definition, and makes the graph. Fails as the command
  // CreateGraph. RESOURCE_EXHAUSTED: the session would exceed its limit of
  // graph nodes. After an error nothing is left of the graph. REQUIRES: called
  // once.
  absl::StatusOr<std::shared_ptr<const BuiltGraph>> Build(
      const v1::GraphDefinition& definition);

 private:
  // The graph that nodes are added to.
  struct Level {
    CUgraph body = nullptr;
    uint32_t device = 0;  // of nodes that name none
    bool in_branch = false;
  };
  // A condition that the definition declares. Only nodes on its device can set
  // it.
  struct Condition {
    uint32_t device = 0;            // of the node that tests it
    std::optional<uint32_t> value;  // the initial value
  };

  // Notes the conditions of the definition and of the definitions inside it.
  // Nodes that name no device run on `device`.
  void CollectConditions(const v1::GraphDefinition& definition,
                         uint32_t device);
  // Makes the conditions of the conditional nodes in `definition`, and the
  // conditions that its launches set for nodes of inner definitions. CUDA
  // requires that a condition is made for the graph that has its conditional
  // node, or for a graph around that graph.
  absl::Status CreateConditions(const v1::GraphDefinition& definition,
                                CUgraph body);
  // Makes one condition. Does nothing if it exists, or if the definition does
  // not declare it.
  absl::Status CreateCondition(uint32_t id, CUgraph body);

  // Adds all nodes of a definition to `built`. REQUIRES: CheckDefinition has
  // passed, which bounds the recursion.
  absl::Status AddNodes(const v1::GraphDefinition& definition,
                        const Level& level, BuiltLevel* built);
  // Adds one node, which follows nodes of `earlier`.
  absl::Status AddNode(const v1::GraphNode& node, const Level& level,
                       const BuiltLevel& earlier, BuiltNode* added);
  // Fills the child graph or the branches of a node.
  absl::Status AddInner(const v1::GraphNode& node, const Level& level,
                        BuiltNode* added);

  // Returns the parameters of a node, and notes in `added` the resources that
  // it uses.
  absl::StatusOr<cuda::GraphNode> Describe(const v1::GraphNode& node,
                                           const Level& level,
                                           BuiltNode* added);
  absl::StatusOr<cuda::GraphNode> EmptyChild();
  absl::StatusOr<cuda::GraphNode> Conditional(const v1::GraphNode& node,
                                              const Level& level);
  // Keeps the memory of a buffer as long as the graph.
  absl::Status Keep(uint64_t buffer, BuiltNode* added);
  OperandScope ScopeOf(BuiltNode* added);
  static uint32_t DeviceOf(const v1::GraphNode& node, const Level& level);
  // Checks the device of a node. INVALID_ARGUMENT: the node is in a branch, and
  // names another device than the branch has.
  static absl::Status CheckDevice(const v1::GraphNode& node,
                                  const Level& level);

  Resources& resources_;
  NodePath path_;          // of the node that is being added
  uint32_t position_ = 0;  // of the next node; all levels counted
  absl::flat_hash_map<uint32_t, Condition> conditions_;  // by id
  GraphAllocations allocations_{resources_};
  // An empty graph, with which child nodes are made.
  std::unique_ptr<cuda::Graph> empty_;
  std::shared_ptr<BuiltGraph> built_{new BuiltGraph};
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_BUILDER_H_
