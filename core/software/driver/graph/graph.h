// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_GRAPH_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_GRAPH_H_

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "core/cuda/user_object.h"
#include "core/software/driver/graph/node.h"
#include "core/software/driver/graph_handles.h"
#include "cuda.h"

namespace holdfast::software {

// A definition: nodes and the dependencies between them. May hold cycles until
// it is instantiated. Guarded by the lock of all definitions.
class Graph {
 public:
  // Limits for definitions that applications (or a daemon's clients) make up.
  static constexpr size_t kMostNodes = size_t{1} << 20;  // with children
  static constexpr int kMostLevels = 64;                 // of children

  // Nodes get their handles from `handles`, and so does the graph itself. Null:
  // a copy that no application sees.
  explicit Graph(GraphHandles* handles) : handles_(handles) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Makes all handles of the graph and its children stale. To be called before
  // an application's graph goes.
  void Withdraw();

  CUgraph handle() const { return handle_; }
  void set_handle(CUgraph handle) { handle_ = handle; }
  // In the order of their creation.
  const std::list<std::shared_ptr<GraphNode>>& nodes() const { return nodes_; }
  // With those of all children.
  size_t CountNodes() const;
  // 1 without children.
  int CountLevels() const;
  // The node that owns this graph; null for a graph of its own.
  GraphNode* owner() const { return owner_; }
  // Whether there are nodes that allocate or free, here or in inner graphs.
  // Such graphs lose no nodes and edges, and cannot be copied.
  bool has_memory_nodes() const { return has_memory_nodes_; }
  bool has_conditional_nodes() const { return has_conditional_nodes_; }
  bool can_be_cloned() const {
    return !has_memory_nodes_ && !has_conditional_nodes_;
  }
  // True for a body of a conditional node, and graphs within one.
  bool conditional_body() const;

  // Conditions that were made for nodes of this graph.
  std::vector<std::shared_ptr<GraphCondition>> conditions;
  // Objects that the application wants to live as long as the graph.
  cuda::UserReferences user_objects;
  // The one instantiation that a graph which cannot be cloned may have.
  std::weak_ptr<GraphExec> only_exec;

  // Edges go from `dependencies` to the new node. CUDA_ERROR_INVALID_VALUE: an
  // edge is not valid; then this graph, and a graph that was to be moved, are
  // as they were.
  CUresult AddNode(NodeParameters parameters,
                   const std::vector<GraphEdge>& dependencies,
                   GraphNode** node);
  void RemoveNode(GraphNode* node);

  // Both return CUDA_ERROR_INVALID_VALUE: if the nodes are the same, belong to
  // another graph, or if there is such an edge, or none with equal data.
  CUresult AddEdge(GraphNode* from, GraphNode* to, const CUgraphEdgeData& data);
  CUresult RemoveEdge(GraphNode* from, GraphNode* to,
                      const CUgraphEdgeData& data);

  // Copies the graph with all its children. Nodes of the copy know their
  // origin.
  std::shared_ptr<Graph> Clone(GraphHandles* handles) const;
  // Puts a copy of `child` into a child node that is not added yet, or moves it
  // there. Returns CUDA_ERROR_INVALID_VALUE if there would be too many levels,
  // or the graph cannot be moved, CUDA_ERROR_NOT_SUPPORTED if it cannot be
  // copied, CUDA_ERROR_OUT_OF_MEMORY for too many nodes.
  CUresult CloneChild(const Graph& child, ChildNode* node) const;
  CUresult MoveChild(std::shared_ptr<Graph> child, ChildNode* node) const;
  // Makes the bodies of a conditional node that is not added yet.
  CUresult MakeBodies(size_t count, ConditionalNode* node) const;

 private:
  std::shared_ptr<GraphNode> NewNode(NodeParameters parameters);
  // May a node that is not inserted yet depend on these?
  bool CanDepend(const GraphNode& node,
                 const std::vector<GraphEdge>& dependencies) const;
  GraphNode* Insert(std::shared_ptr<GraphNode> node);
  int Level() const;
  // Tells the graphs around this one what it holds now.
  void MarkUp(bool memory, bool conditional);

  GraphHandles* const handles_;
  CUgraph handle_ = nullptr;
  GraphNode* owner_ = nullptr;
  std::list<std::shared_ptr<GraphNode>> nodes_;
  bool has_memory_nodes_ = false;
  bool has_conditional_nodes_ = false;
};

// Gives the graph and its children handles.
CUgraph Publish(GraphHandles& handles, const std::shared_ptr<Graph>& graph);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_GRAPH_H_
