// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "client/cuda/graph/graph_memory.h"

namespace holdfast::libcuda {
namespace {

bool AreEqual(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Only kernels have ports, and a programmatic edge connects two kernels.
bool IsValid(const Node& from, CUgraphNodeType to,
             const CUgraphEdgeData& data) {
  for (const unsigned char unused : data.reserved) {
    if (unused != 0) return false;
  }
  if (data.to_port != 0) return false;
  const bool from_kernel = from.type() == CU_GRAPH_NODE_TYPE_KERNEL;
  switch (data.type) {
    case CU_GRAPH_DEPENDENCY_TYPE_DEFAULT:
      return data.from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ||
             (from_kernel &&
              data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    case CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC:
      return from_kernel && to == CU_GRAPH_NODE_TYPE_KERNEL &&
             (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
              data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    default:
      return false;
  }
}

std::vector<Edge>::iterator FindEdge(std::vector<Edge>& edges,
                                     const Node* node) {
  return std::find_if(edges.begin(), edges.end(),
                      [node](const Edge& edge) { return edge.node == node; });
}

// Looks at the node with fewer edges.
bool AreConnected(Node* from, Node* to) {
  return from->dependents.size() < to->dependencies.size()
             ? FindEdge(from->dependents, to) != from->dependents.end()
             : FindEdge(to->dependencies, from) != to->dependencies.end();
}

void Connect(Node* from, Node* to, const CUgraphEdgeData& data) {
  from->dependents.push_back({to, data});
  to->dependencies.push_back({from, data});
}

// Returns the number of nodes that a node with this work is.
ptrdiff_t CountOf(const NodeWork& work) {
  size_t count = 1;
  for (const auto& inner : GraphsOf(work)) count += inner->count();
  return static_cast<ptrdiff_t>(count);
}

// Records that the allocation has its free node, or that the condition has its
// conditional node: a second such node is refused.
void MarkTaken(const NodeWork& work) {
  if (const auto* free = std::get_if<FreeWork>(&work)) {
    free->allocation->has_free_node = true;
  } else if (const auto* test = std::get_if<ConditionalWork>(&work)) {
    test->condition->is_tested = true;
  }
}

}  // namespace

CUgraph Graph::Publish(GraphTable& table, const std::shared_ptr<Graph>& graph) {
  graph->handle_ = table.graphs.Add(graph);
  return graph->handle_;
}

void Graph::Withdraw() {
  if (table_ == nullptr) return;
  for (const std::shared_ptr<Node>& node : nodes_) {
    for (const auto& inner : node->graphs()) inner->Withdraw();
    table_->nodes.Remove(node->handle);
  }
  table_->graphs.Remove(handle_);
  // A capture may still hold the graph.
  owner_ = nullptr;
  has_ended_ = true;
}

const Graph& Graph::Root() const {
  const Graph* at = this;
  while (at->owner_ != nullptr) at = at->owner_->graph;
  return *at;
}

int Graph::Level() const {
  int level = 1;
  for (const Node* at = owner_; at != nullptr; at = at->graph->owner_) ++level;
  return level;
}

int Graph::CountLevels() const {
  int levels = 0;
  for (const std::shared_ptr<Node>& node : nodes_) {
    for (const auto& inner : node->graphs()) {
      levels = std::max(levels, inner->CountLevels());
    }
  }
  return levels + 1;
}

bool Graph::HasRoomFor(size_t nodes) const {
  const size_t count = Root().count_;
  return count <= kMostNodes && nodes <= kMostNodes - count;
}

void Graph::AddToCount(ptrdiff_t nodes) {
  for (Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    at->count_ += static_cast<size_t>(nodes);
  }
}

Node* Graph::Insert(NodeWork work) {
  auto node = std::make_shared<Node>();
  node->graph = this;
  node->work = std::move(work);
  const CUgraphNodeType type = node->type();
  bool memory = type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                type == CU_GRAPH_NODE_TYPE_MEM_FREE;
  bool conditional = type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  for (const std::shared_ptr<Graph>& inner : node->graphs()) {
    inner->owner_ = node.get();
    memory |= inner->has_memory_nodes_;
    conditional |= inner->has_conditional_nodes_;
  }
  for (Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    at->has_memory_nodes_ |= memory;
    at->has_conditional_nodes_ |= conditional;
  }
  AddToCount(CountOf(node->work));
  node->position = nodes_.insert(nodes_.end(), node);
  if (table_ != nullptr) node->handle = table_->nodes.Add(node);
  return node.get();
}

bool Graph::CanDependOn(const std::vector<Edge>& dependencies,
                        CUgraphNodeType type) const {
  std::unordered_set<const Node*> seen;
  return std::all_of(dependencies.begin(), dependencies.end(),
                     [&](const Edge& edge) {
                       return edge.node->graph == this &&
                              IsValid(*edge.node, type, edge.data) &&
                              seen.insert(edge.node).second;
                     });
}

CUresult Graph::AddNode(NodeWork work, const std::vector<Edge>& dependencies,
                        Node** node) {
  const bool valid = CanDependOn(dependencies, TypeOf(work));
  if (!valid || !HasRoomFor(static_cast<size_t>(CountOf(work)))) {
    // A child that was to be moved stays the program's.
    const auto* child = std::get_if<ChildWork>(&work);
    if (child == nullptr || !child->is_moved) {
      for (const auto& inner : GraphsOf(work)) inner->Withdraw();
    }
    return valid ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  }
  Node* added = Insert(std::move(work));
  for (const Edge& edge : dependencies) Connect(edge.node, added, edge.data);
  MarkTaken(added->work);
  *node = added;
  return CUDA_SUCCESS;
}

void Graph::RemoveNode(Node* node) {
  for (const Edge& edge : node->dependencies) {
    edge.node->dependents.erase(FindEdge(edge.node->dependents, node));
  }
  for (const Edge& edge : node->dependents) {
    edge.node->dependencies.erase(FindEdge(edge.node->dependencies, node));
  }
  AddToCount(-CountOf(node->work));
  for (const auto& inner : node->graphs()) inner->Withdraw();
  if (table_ != nullptr) table_->nodes.Remove(node->handle);
  nodes_.erase(node->position);
}

CUresult Graph::AddEdge(Node* from, Node* to, const CUgraphEdgeData& data) {
  if (from == to || from->graph != this || to->graph != this ||
      !IsValid(*from, to->type(), data) || AreConnected(from, to)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Connect(from, to, data);
  return CUDA_SUCCESS;
}

CUresult Graph::RemoveEdge(Node* from, Node* to, const CUgraphEdgeData& data) {
  if (from->graph != this || to->graph != this) return CUDA_ERROR_INVALID_VALUE;
  const auto edge = FindEdge(from->dependents, to);
  if (edge == from->dependents.end() || !AreEqual(edge->data, data)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  from->dependents.erase(edge);
  to->dependencies.erase(FindEdge(to->dependencies, from));
  return CUDA_SUCCESS;
}

std::shared_ptr<Condition> Graph::FindCondition(
    CUgraphConditionalHandle handle) const {
  for (const Graph* at = this; at != nullptr;
       at = at->owner_ == nullptr ? nullptr : at->owner_->graph) {
    for (const auto& condition : at->conditions) {
      if (condition->handle == handle) return condition;
    }
  }
  return nullptr;
}

std::shared_ptr<Graph> Graph::Clone(GraphTable* table) const {
  auto clone = std::make_shared<Graph>(table);
  clone->conditions = conditions;
  clone->user_objects = user_objects;
  std::unordered_map<const Node*, Node*> copies;
  for (const std::shared_ptr<Node>& node : nodes_) {
    NodeWork work = node->work;
    if (auto* child = std::get_if<ChildWork>(&work)) {
      clone->CopyInnerGraphs(&child->graphs);
    } else if (auto* conditional = std::get_if<ConditionalWork>(&work)) {
      clone->CopyInnerGraphs(&conditional->graphs);
    }
    Node* copy = clone->Insert(std::move(work));
    copy->origin = node->handle;
    copies[node.get()] = copy;
  }
  const auto translate = [&copies](std::vector<Edge> edges) {
    for (Edge& edge : edges) edge.node = copies[edge.node];
    return edges;
  };
  for (const std::shared_ptr<Node>& node : nodes_) {
    copies[node.get()]->dependencies = translate(node->dependencies);
    copies[node.get()]->dependents = translate(node->dependents);
  }
  return clone;
}

void Graph::CopyInnerGraphs(InnerGraphs* graphs) const {
  for (std::shared_ptr<Graph>& inner : *graphs) {
    inner = inner->Clone(table_);
    if (table_ != nullptr) Publish(*table_, inner);
  }
}

CUresult Graph::CopyChild(const Graph& child, ChildWork* work) const {
  if (child.has_memory_nodes_ || child.has_conditional_nodes_) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (Level() + child.CountLevels() > kMostLevels) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!HasRoomFor(child.count_ + 1)) return CUDA_ERROR_OUT_OF_MEMORY;
  work->graphs = {child.Clone(table_)};
  if (table_ != nullptr) Publish(*table_, work->graphs[0]);
  return CUDA_SUCCESS;
}

CUresult Graph::MoveChild(std::shared_ptr<Graph> child, ChildWork* work) const {
  if (child->has_conditional_nodes_) return CUDA_ERROR_NOT_SUPPORTED;
  // Not one that was moved before, and not into itself.
  if (child->owner_ != nullptr || !child->only_exec.expired() ||
      &Root() == child.get() || Level() + child->CountLevels() > kMostLevels) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *work = {.graphs = {std::move(child)}, .is_moved = true};
  return CUDA_SUCCESS;
}

CUresult Graph::MakeBodies(size_t count, ConditionalWork* work) const {
  if (Level() + 1 > kMostLevels) return CUDA_ERROR_INVALID_VALUE;
  work->handles = std::make_shared<std::vector<CUgraph>>();
  for (size_t i = 0; i < count; ++i) {
    work->graphs.push_back(std::make_shared<Graph>(table_));
    work->handles->push_back(Publish(*table_, work->graphs.back()));
  }
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
