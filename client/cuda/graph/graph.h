// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_H_

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "client/cuda/graph/node.h"
#include "client/cuda/graph_table.h"
#include "core/cuda/user_object.h"
#include "cuda.h"

namespace holdfast::libcuda {

// A CUgraph: nodes and their dependencies, in this process alone until the
// graph is instantiated. May have cycles until then. Guarded by the lock of all
// definitions.
class Graph {
 public:
  // Limits of a top-level graph with all inner graphs. Adding a copy of
  // a graph to the graph itself doubles its size.
  static constexpr size_t kMostNodes = size_t{1} << 20;
  static constexpr int kMostLevels = 64;  // of nesting

  // `table` gives handles to the nodes. Null: the graph is a copy without
  // handles, which the program does not see.
  explicit Graph(GraphTable* table) : table_(table) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Gives the graph a handle.
  static CUgraph Publish(GraphTable& table,
                         const std::shared_ptr<Graph>& graph);
  // Ends the handles of the graph, of its nodes and of its inner graphs.
  void Withdraw();

  CUgraph handle() const { return handle_; }
  // In the order in which they were added.
  const std::list<std::shared_ptr<Node>>& nodes() const { return nodes_; }
  // The number of nodes, including the nodes of inner graphs.
  size_t count() const { return count_; }
  // The node that this graph is part of; null: none.
  Node* owner() const { return owner_; }
  bool has_ended() const { return has_ended_; }
  bool has_memory_nodes() const { return has_memory_nodes_; }
  bool has_conditional_nodes() const { return has_conditional_nodes_; }

  // Adds a node. CUDA_ERROR_INVALID_VALUE: a dependency is a node of another
  // graph, is named twice, or has edge data that the two nodes cannot have.
  // CUDA_ERROR_OUT_OF_MEMORY: more than kMostNodes. On an error the graph is
  // unchanged.
  CUresult AddNode(NodeWork work, const std::vector<Edge>& dependencies,
                   Node** node);
  void RemoveNode(Node* node);
  // Adds an edge. CUDA_ERROR_INVALID_VALUE: the nodes have an edge already, are
  // the same node or are not of this graph, or cannot have an edge with this
  // data.
  CUresult AddEdge(Node* from, Node* to, const CUgraphEdgeData& data);
  // Removes an edge. CUDA_ERROR_INVALID_VALUE: there is no such edge with this
  // data.
  CUresult RemoveEdge(Node* from, Node* to, const CUgraphEdgeData& data);

  // Returns the condition of this graph, or of a graph around it, with this
  // handle; null: there is none.
  std::shared_ptr<Condition> FindCondition(
      CUgraphConditionalHandle handle) const;

  // Returns a copy, which shares conditions and allocations with this graph.
  std::shared_ptr<Graph> Clone(GraphTable* table) const;
  // Make the work of a child node of this graph: with a copy of `child`, or
  // with `child` itself. CUDA_ERROR_NOT_SUPPORTED: the child has conditional
  // nodes or, for a copy, memory nodes. CUDA_ERROR_INVALID_VALUE: the child to
  // be moved belongs to a node, is instantiated with memory, or contains this
  // graph; or there would be more than kMostLevels levels.
  // CUDA_ERROR_OUT_OF_MEMORY: as AddNode.
  CUresult CopyChild(const Graph& child, ChildWork* work) const;
  CUresult MoveChild(std::shared_ptr<Graph> child, ChildWork* work) const;
  // Makes the bodies of a conditional node. CUDA_ERROR_INVALID_VALUE: there
  // would be more than kMostLevels levels.
  CUresult MakeBodies(size_t count, ConditionalWork* work) const;

  std::vector<std::shared_ptr<Condition>> conditions;
  cuda::UserReferences user_objects;
  // The executable graph, if this graph has memory nodes: such a graph may have
  // only one executable graph.
  std::weak_ptr<GraphExec> only_exec;

 private:
  // Returns true if a new node of this type may have these dependencies.
  bool CanDependOn(const std::vector<Edge>& dependencies,
                   CUgraphNodeType type) const;
  Node* Insert(NodeWork work);
  void CopyInnerGraphs(InnerGraphs* graphs) const;
  const Graph& Root() const;
  int Level() const;        // 1 for a top-level graph
  int CountLevels() const;  // 1 without inner graphs
  // Returns true if this number of nodes can be added to the top-level graph.
  bool HasRoomFor(size_t nodes) const;
  // Adds to the count of this graph and of all graphs around it.
  void AddToCount(ptrdiff_t nodes);

  GraphTable* const table_;
  CUgraph handle_ = nullptr;
  Node* owner_ = nullptr;
  bool has_ended_ = false;  // Withdraw was called
  std::list<std::shared_ptr<Node>> nodes_;
  size_t count_ = 0;
  // has_memory_nodes_ and has_conditional_nodes_ stay true after such nodes are
  // removed, as in CUDA.
  bool has_memory_nodes_ = false;
  bool has_conditional_nodes_ = false;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_H_
