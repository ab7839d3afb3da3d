// SPDX-License-Identifier: Apache-2.0
//
// The CUDA graph that graph_builder has made from a definition, and its nodes.
// It never changes, except for the text of a drawing that a client fetches.
// Everything belongs to the submission thread; there is no lock.
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_BUILT_GRAPH_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_BUILT_GRAPH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/error_detail.h"
#include "core/cuda/event.h"
#include "core/cuda/graph.h"
#include "core/cuda/graph_node.h"
#include "cuda.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "proto/node_index.h"
#include "proto/node_path.h"
#include "server/account/quota.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// Returns the error `status` with the node's path before the message and in the
// ErrorDetail.
inline absl::Status AtNode(const NodePath& path, const absl::Status& status) {
  return AtGraphNode(path.ToString(), path.ids(), status);
}

struct BuiltNode;

// The nodes of one definition, in its order: each node follows the nodes that
// it depends on.
struct BuiltLevel {
  std::vector<BuiltNode> nodes;
  NodeIndex index;

  // Returns the node with this id; null if there is none. Valid as long as the
  // level.
  const BuiltNode* Find(uint32_t id) const;
};

// A node of a CUDA graph that was made from a definition.
struct BuiltNode {
  uint32_t id = 0;
  uint32_t position = 0;  // in the graph; nodes of all levels count
  v1::GraphNode::OperationCase operation = v1::GraphNode::OPERATION_NOT_SET;
  uint32_t device = 0;
  bool device_is_fixed = false;  // see ToNode
  // The positions, in the level, of the nodes that this node depends on.
  absl::InlinedVector<uint32_t, 4> after;
  CUgraphNode handle = nullptr;
  cuda::GraphNode parameters;
  NodeUses uses;
  std::vector<BuiltLevel> inner;  // of the child graph, or of each branch
};

// The copies of one launch that have the same v1::CopyPath. Copies in
// conditional branches are not counted, because it is not known whether the
// device runs them.
struct CopySum {
  uint64_t copies = 0;
  uint64_t bytes = 0;
};
// The copies of one launch, by v1::CopyPath.
using CopySums = std::array<CopySum, v1::CopyPath_ARRAYSIZE>;

// The names of the first eight different kernels of a graph, for messages.
class KernelNames {
 public:
  // Adds the name of the node's kernel. Does nothing if the node has no kernel,
  // or if there are eight names already.
  void Add(const NodeUses& uses);
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr size_t kMaxNames = 8;
  std::vector<std::string> names_;
};

// A CUDA graph that GraphBuilder has made, and the nodes of its definition. The
// handles of the graph and of its clones share it with their instances. Each
// owner gives its share up with Release.
//
// The graph is immutable, so that instances can refer to its nodes. A
// GraphInstance stores the changes of an instance itself.
class BuiltGraph {
 public:
  // Gives up one owner's share. When the last owner gives it up, destroys the
  // graph, and releases the resources of its nodes when present work on the
  // devices has ended; does not block.
  static void Release(Resources& resources,
                      std::shared_ptr<const BuiltGraph> graph);

  BuiltGraph(const BuiltGraph&) = delete;
  BuiltGraph& operator=(const BuiltGraph&) = delete;

  const std::shared_ptr<cuda::Graph>& graph() const { return graph_; }
  // The top level. The nodes of child graphs and branches are in BuiltNode.
  const BuiltLevel& nodes() const { return nodes_; }
  const GraphConditions& conditions() const { return conditions_; }
  // The number of nodes on all levels.
  uint64_t node_count() const { return charge_.amount(); }

  // Returns true if the graph has allocation nodes. Such a graph can have only
  // one instance at a time.
  bool allocates() const { return allocates_; }

  // The events that the nodes record, without duplicates.
  const std::vector<std::shared_ptr<cuda::Event>>& recorded() const {
    return recorded_;
  }
  // Pairs of the device that a node runs on and the device whose memory it
  // uses, without duplicates.
  const std::vector<std::pair<uint32_t, uint32_t>>& peers() const {
    return peers_;
  }
  const CopySums& copies() const { return copies_; }
  const KernelNames& kernels() const { return kernels_; }
  // The nodes that wait for a semaphore.
  const std::vector<const BuiltNode*>& waiting() const { return waiting_; }

  // Checks whether the parameters of this graph can replace the parameters of
  // `other`. Nodes are paired by their order. FAILED_PRECONDITION: the graphs
  // differ in the number of nodes, in the kind of a node or in an edge. The
  // ErrorDetail has the graph_update_result and the node of this graph.
  absl::Status CheckSameShape(const BuiltGraph& other) const;

  // The text of DrawGraph, stored while a client fetches it in pieces; null:
  // there is none. It is not part of the graph's value, and can be set for a
  // const graph.
  struct Drawing {
    bool verbose = false;
    std::string text;
  };
  std::unique_ptr<const Drawing>& drawing() const { return drawing_; }

  // Returns the path of the node with this CUDA handle; empty: there is none.
  NodePath PathOf(CUgraphNode node) const;

 private:
  friend class GraphBuilder;
  BuiltGraph() = default;
  void SumUses();
  // Copies in branches are not counted.
  void SumUses(const BuiltLevel& level, bool in_branch);

  // Declared first, so that the graph ends before the resources of its nodes.
  HoldSet holds_;
  BuiltLevel nodes_;
  GraphConditions conditions_;
  std::vector<std::shared_ptr<cuda::Event>> recorded_;
  std::vector<std::pair<uint32_t, uint32_t>> peers_;
  CopySums copies_;
  KernelNames kernels_;
  std::vector<const BuiltNode*> waiting_;
  bool allocates_ = false;
  mutable std::unique_ptr<const Drawing> drawing_;
  Charge charge_;  // of graph nodes
  std::shared_ptr<cuda::Graph> graph_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_BUILT_GRAPH_H_
