// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/software/driver/graph/allocation.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

bool Equal(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

// Only kernels have ports, and programmatic edges lie between kernels.
bool Valid(const GraphNode& from, const GraphNode& to,
           const CUgraphEdgeData& data) {
  constexpr unsigned char kUnused[sizeof data.reserved] = {};
  if (data.to_port != 0 ||
      memcmp(data.reserved, kUnused, sizeof kUnused) != 0 ||
      data.type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
      data.from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) {
    return false;
  }
  const bool from_kernel = from.type() == CU_GRAPH_NODE_TYPE_KERNEL;
  const bool to_kernel = to.type() == CU_GRAPH_NODE_TYPE_KERNEL;
  if (data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
    return from_kernel && to_kernel &&
           data.from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT;
  }
  return data.from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ||
         (from_kernel &&
          data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
}

std::vector<GraphEdge>::iterator FindEdge(std::vector<GraphEdge>& edges,
                                          const GraphNode* node) {
  return std::find_if(edges.begin(), edges.end(),
                      [node](const GraphEdge& e) { return e.node == node; });
}

// Looks at the end that has fewer edges.
bool Connected(GraphNode* from, GraphNode* to) {
  return from->dependents.size() < to->dependencies.size()
             ? FindEdge(from->dependents, to) != from->dependents.end()
             : FindEdge(to->dependencies, from) != to->dependencies.end();
}

// Returns the number of nodes that a node is, with its inner graphs.
ptrdiff_t CountOf(const GraphNode& node) {
  size_t count = 1;
  for (const auto& inner : node.graphs()) count += inner->count();
  return static_cast<ptrdiff_t>(count);
}

// Marks what only one node may have.
void Take(const NodeWork& work) {
  if (const auto* freeing = std::get_if<FreeWork>(&work)) {
    freeing->allocation->has_free_node = true;
  } else if (const auto* test = std::get_if<ConditionalWork>(&work)) {
    test->condition->taken = true;
  }
}

}  // namespace

void Graph::Withdraw() {
  if (handles_ == nullptr) return;
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    for (const auto& inner : node->graphs()) inner->Withdraw();
    handles_->nodes.Remove(node->handle);
  }
  if (handle_ != nullptr) handles_->graphs.Remove(handle_);
  // A capture may still hold the graph.
  owner_ = nullptr;
}

const Graph& Graph::Root() const {
  const Graph* at = this;
  while (at->owner_ != nullptr) at = at->owner_->graph;
  return *at;
}

bool Graph::HasRoomFor(size_t nodes) const {
  const size_t count = Root().count_;
  return count <= kMostNodes && nodes <= kMostNodes - count;
}

int Graph::CountLevels() const {
  int levels = 0;
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    for (const auto& inner : node->graphs()) {
      levels = std::max(levels, inner->CountLevels());
    }
  }
  return levels + 1;
}

int Graph::Level() const {
  int level = 1;
  for (const GraphNode* at = owner_; at != nullptr; at = at->graph->owner_) {
    ++level;
  }
  return level;
}

bool Graph::conditional_body() const {
  for (const GraphNode* at = owner_; at != nullptr; at = at->graph->owner_) {
    if (at->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL) return true;
  }
  return false;
}

void Graph::AddToCount(ptrdiff_t nodes) {
  for (Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    at->count_ += static_cast<size_t>(nodes);
  }
}

void Graph::MarkUp(bool memory, bool conditional) {
  for (Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    at->has_memory_nodes_ |= memory;
    at->has_conditional_nodes_ |= conditional;
  }
}

GraphNode* Graph::Insert(std::shared_ptr<GraphNode> node) {
  const CUgraphNodeType type = node->type();
  MarkUp(type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
             type == CU_GRAPH_NODE_TYPE_MEM_FREE,
         type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
  for (const std::shared_ptr<Graph>& inner : node->graphs()) {
    inner->owner_ = node.get();
    MarkUp(inner->has_memory_nodes_, inner->has_conditional_nodes_);
  }
  AddToCount(CountOf(*node));
  node->position = nodes_.insert(nodes_.end(), node);
  if (handles_ != nullptr) node->handle = handles_->nodes.Add(node);
  return node.get();
}

std::shared_ptr<GraphNode> Graph::NewNode(NodeWork work) {
  auto node = std::make_shared<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  return node;
}

bool Graph::CanDepend(const GraphNode& node,
                      const std::vector<GraphEdge>& dependencies) const {
  std::unordered_set<const GraphNode*> before;
  return std::all_of(
      dependencies.begin(), dependencies.end(), [&](const GraphEdge& edge) {
        return edge.node->graph == this && Valid(*edge.node, node, edge.data) &&
               before.insert(edge.node).second;
      });
}

CUresult Graph::AddNode(NodeWork work,
                        const std::vector<GraphEdge>& dependencies,
                        GraphNode** node) {
  std::shared_ptr<GraphNode> added = NewNode(std::move(work));
  auto* const child = std::get_if<ChildWork>(&added->work);
  const bool valid = CanDepend(*added, dependencies);
  if (!valid || !HasRoomFor(static_cast<size_t>(CountOf(*added)))) {
    // Graphs that were made for the node end with it.
    if (child == nullptr || !child->is_moved) {
      for (const auto& inner : added->graphs()) inner->Withdraw();
    }
    return valid ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  }
  if (child != nullptr) child->is_moved = false;
  *node = Insert(std::move(added));
  for (const GraphEdge& edge : dependencies) {
    edge.node->dependents.push_back({*node, edge.data});
    (*node)->dependencies.push_back(edge);
  }
  Take((*node)->work);
  return CUDA_SUCCESS;
}

void Graph::RemoveNode(GraphNode* node) {
  for (const GraphEdge& edge : node->dependencies) {
    edge.node->dependents.erase(FindEdge(edge.node->dependents, node));
  }
  for (const GraphEdge& edge : node->dependents) {
    edge.node->dependencies.erase(FindEdge(edge.node->dependencies, node));
  }
  for (const auto& inner : node->graphs()) inner->Withdraw();
  if (handles_ != nullptr) handles_->nodes.Remove(node->handle);
  AddToCount(-CountOf(*node));
  nodes_.erase(node->position);
}

CUresult Graph::AddEdge(GraphNode* from, GraphNode* to,
                        const CUgraphEdgeData& data) {
  if (from == to || from->graph != this || to->graph != this ||
      !Valid(*from, *to, data) || Connected(from, to)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  from->dependents.push_back({to, data});
  to->dependencies.push_back({from, data});
  return CUDA_SUCCESS;
}

CUresult Graph::RemoveEdge(GraphNode* from, GraphNode* to,
                           const CUgraphEdgeData& data) {
  if (from->graph != this || to->graph != this) return CUDA_ERROR_INVALID_VALUE;
  const auto out = FindEdge(from->dependents, to);
  if (out == from->dependents.end() || !Equal(out->data, data)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  from->dependents.erase(out);
  to->dependencies.erase(FindEdge(to->dependencies, from));
  return CUDA_SUCCESS;
}

namespace {

void CloneGraphs(GraphHandles* handles, InnerGraphs* graphs) {
  for (std::shared_ptr<Graph>& inner : *graphs) {
    inner = inner->Clone(handles);
    if (handles != nullptr) Publish(*handles, inner);
  }
}

}  // namespace

std::shared_ptr<GraphCondition> Graph::FindCondition(
    CUgraphConditionalHandle handle) const {
  for (const Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    for (const auto& condition : at->conditions) {
      if (condition->handle() == handle) return condition;
    }
  }
  return nullptr;
}

std::shared_ptr<Graph> Graph::Clone(GraphHandles* handles) const {
  auto clone = std::make_shared<Graph>(handles);
  clone->conditions = conditions;
  clone->user_objects = user_objects;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    NodeWork work = node->work;
    if (auto* child = std::get_if<ChildWork>(&work)) {
      CloneGraphs(handles, &child->graphs);
    } else if (auto* bodies = std::get_if<ConditionalWork>(&work)) {
      CloneGraphs(handles, &bodies->graphs);
    }
    GraphNode* copy = clone->Insert(clone->NewNode(std::move(work)));
    copy->origin = node->handle;
    copies[node.get()] = copy;
  }
  const auto translate = [&copies](std::vector<GraphEdge> edges) {
    for (GraphEdge& edge : edges) edge.node = copies[edge.node];
    return edges;
  };
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    GraphNode* copy = copies[node.get()];
    copy->dependencies = translate(node->dependencies);
    copy->dependents = translate(node->dependents);
  }
  return clone;
}

CUresult Graph::CopyChild(const Graph& child, ChildWork* node) const {
  if (!child.can_be_cloned()) return CUDA_ERROR_NOT_SUPPORTED;
  if (Level() + child.CountLevels() > kMostLevels) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!HasRoomFor(child.count() + 1)) return CUDA_ERROR_OUT_OF_MEMORY;
  node->graphs = {child.Clone(handles_)};
  if (handles_ != nullptr) Publish(*handles_, node->graphs[0]);
  return CUDA_SUCCESS;
}

CUresult Graph::MoveChild(std::shared_ptr<Graph> child, ChildWork* node) const {
  if (child->has_conditional_nodes_) return CUDA_ERROR_NOT_SUPPORTED;
  if (child->owner_ != nullptr || !child->only_exec.expired() ||
      Level() + child->CountLevels() > kMostLevels) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Not into itself.
  if (&Root() == child.get()) return CUDA_ERROR_INVALID_VALUE;
  node->graphs = {std::move(child)};
  node->is_moved = true;
  return CUDA_SUCCESS;
}

CUresult Graph::MakeBodies(size_t count, ConditionalWork* node) const {
  if (Level() + 1 > kMostLevels) return CUDA_ERROR_INVALID_VALUE;
  node->handles = std::make_shared<std::vector<CUgraph>>();
  for (size_t i = 0; i < count; ++i) {
    node->graphs.push_back(std::make_shared<Graph>(handles_));
    node->handles->push_back(Publish(*handles_, node->graphs.back()));
  }
  return CUDA_SUCCESS;
}

CUgraph Publish(GraphHandles& handles, const std::shared_ptr<Graph>& graph) {
  graph->set_handle(handles.graphs.Add(graph));
  return graph->handle();
}

}  // namespace holdfast::software
