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

// The definition of a graph: nodes, and the dependencies between them. A
// definition may contain cycles, but then it cannot be instantiated. Guarded by
// the lock of all definitions.
class Graph {
 public:
  // The limits of a top-level graph with all its inner graphs. They exist
  // because definitions come from applications or a daemon's clients. Each call
  // that adds nodes checks them, because copying a graph into itself doubles
  // the graph.
  static constexpr size_t kMostNodes = size_t{1} << 20;
  static constexpr int kMostLevels = 64;  // of nesting

  // `handles` gives handles to the nodes, and must outlive the graph. Null: the
  // graph is a private copy, whose nodes have no handles.
  explicit Graph(GraphHandles* handles) : handles_(handles) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Makes the handles of the graph, its nodes and its inner graphs stale.
  // Called when the application destroys the graph.
  void Withdraw();

  CUgraph handle() const { return handle_; }
  void set_handle(CUgraph handle) { handle_ = handle; }
  // The nodes in the order of their creation.
  const std::list<std::shared_ptr<GraphNode>>& nodes() const { return nodes_; }
  // The number of nodes, including the nodes of inner graphs.
  size_t count() const { return count_; }
  // Returns the levels of nesting; 1 if there are no inner graphs.
  int CountLevels() const;
  // The node that owns this graph; null for a top-level graph.
  GraphNode* owner() const { return owner_; }
  // True if a node of this graph or of an inner graph allocates or frees
  // memory. Nodes and edges of such a graph cannot be removed, and the graph
  // cannot be copied.
  bool has_memory_nodes() const { return has_memory_nodes_; }
  bool has_conditional_nodes() const { return has_conditional_nodes_; }
  bool can_be_cloned() const {
    return !has_memory_nodes_ && !has_conditional_nodes_;
  }
  // Returns true if the graph is a body of a conditional node, or is inside
  // such a body.
  bool conditional_body() const;

  // Conditions that were made for nodes of this graph.
  std::vector<std::shared_ptr<GraphCondition>> conditions;
  // User objects that the graph retains (cuGraphRetainUserObject).
  cuda::UserReferences user_objects;
  // The only live instantiation of a graph that cannot be cloned; null for
  // other graphs.
  std::weak_ptr<GraphExec> only_exec;

  // Adds a node with edges from `dependencies`, and returns it in *node.
  // CUDA_ERROR_INVALID_VALUE: an edge is not valid. CUDA_ERROR_OUT_OF_MEMORY:
  // more than kMostNodes. On an error this graph, and a child graph that was to
  // be moved, are unchanged.
  CUresult AddNode(NodeWork work, const std::vector<GraphEdge>& dependencies,
                   GraphNode** node);
  // Removes a node and its edges. Makes its handle, and the handles of its
  // inner graphs, stale.
  void RemoveNode(GraphNode* node);

  // Add or remove an edge. CUDA_ERROR_INVALID_VALUE: a node belongs to another
  // graph; for AddEdge, `from` is `to`, the edge exists, or `data` is not valid
  // for the nodes; for RemoveEdge, there is no edge with equal data.
  CUresult AddEdge(GraphNode* from, GraphNode* to, const CUgraphEdgeData& data);
  CUresult RemoveEdge(GraphNode* from, GraphNode* to,
                      const CUgraphEdgeData& data);

  // Returns the condition of this graph, or of a graph around it, with this
  // handle; null: there is none.
  std::shared_ptr<GraphCondition> FindCondition(
      CUgraphConditionalHandle handle) const;

  // Returns a copy of the graph with its inner graphs. `origin` of each copied
  // node is the handle of the original node. `handles`: as for the constructor.
  // Inner graphs of the copy get handles; the copy itself gets none (Publish).
  std::shared_ptr<Graph> Clone(GraphHandles* handles) const;
  // Set the graph of a child node that is not added yet. CopyChild sets it to
  // a copy of `child`, MoveChild to `child` itself.
  // CUDA_ERROR_INVALID_VALUE: there would be more than kMostLevels; for
  //   MoveChild, a node owns `child`, `child` is instantiated, or `child`
  //   contains this graph.
  // CUDA_ERROR_NOT_SUPPORTED: for CopyChild, `child` cannot be cloned; for
  //   MoveChild, `child` has conditional nodes.
  // CUDA_ERROR_OUT_OF_MEMORY: for CopyChild, more than kMostNodes. MoveChild
  //   leaves this check to AddNode.
  CUresult CopyChild(const Graph& child, ChildWork* node) const;
  CUresult MoveChild(std::shared_ptr<Graph> child, ChildWork* node) const;
  // Makes `count` empty bodies, with handles, for a conditional node that is
  // not added yet. CUDA_ERROR_INVALID_VALUE: more than kMostLevels. REQUIRES:
  // this graph is not a private copy.
  CUresult MakeBodies(size_t count, ConditionalWork* node) const;

 private:
  // Returns a node of this graph that is not inserted yet.
  std::shared_ptr<GraphNode> NewNode(NodeWork work);
  // Returns true if a node that is not inserted yet may have these edges.
  bool CanDepend(const GraphNode& node,
                 const std::vector<GraphEdge>& dependencies) const;
  // Appends a node without edges, and gives it a handle. Returns the node.
  GraphNode* Insert(std::shared_ptr<GraphNode> node);
  // Returns the level of this graph; 1 for a top-level graph.
  int Level() const;
  // Returns the top-level graph around this graph, or this graph.
  const Graph& Root() const;
  // Returns true if the top-level graph may have `nodes` more nodes.
  bool HasRoomFor(size_t nodes) const;
  // Adds `nodes` to the count of this graph and of all graphs around it.
  void AddToCount(ptrdiff_t nodes);
  // Sets has_memory_nodes and has_conditional_nodes of this graph and of all
  // graphs around it where the argument is true.
  void MarkUp(bool memory, bool conditional);

  GraphHandles* const handles_;
  CUgraph handle_ = nullptr;
  GraphNode* owner_ = nullptr;
  std::list<std::shared_ptr<GraphNode>> nodes_;
  size_t count_ = 0;
  bool has_memory_nodes_ = false;
  bool has_conditional_nodes_ = false;
};

// Gives the graph a new handle, and returns the handle. `handles` shares
// ownership of the graph until the handle is removed (Graph::Withdraw).
CUgraph Publish(GraphHandles& handles, const std::shared_ptr<Graph>& graph);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_GRAPH_H_
