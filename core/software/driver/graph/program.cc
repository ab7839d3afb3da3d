// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/program.h"

#include <algorithm>
#include <utility>

#include "core/software/driver/graph/conditional_step.h"

namespace holdfast::software {
namespace {

// Turns a graph with its children into one list of entries, then into an
// order. A child node becomes two points of order: one in front of the nodes
// of its graph, one behind them.
class Builder {
 public:
  Builder(const MemoryMap& memory, Program::Index* index)
      : memory_(memory), index_(*index) {}

  CUresult Build(const Graph& graph, const GraphNode** culprit) {
    const CUresult result = Add(graph, culprit);
    return result != CUDA_SUCCESS ? result : Order(culprit);
  }

  // Enters its nodes into the index as those of `body`.
  std::shared_ptr<Program> Take(bool body) {
    auto program = std::make_shared<Program>(std::move(ordered_));
    for (const auto& [node, place] : places_) {
      index_[node] = {body ? program.get() : nullptr, place};
    }
    return program;
  }

 private:
  struct Ends {
    uint32_t first = 0, last = 0;
  };

  uint32_t Append(const GraphNode* node, std::shared_ptr<const Step> step) {
    entries_.push_back({.step = std::move(step)});
    nodes_.push_back(node);
    return static_cast<uint32_t>(entries_.size() - 1);
  }

  void Connect(uint32_t from, uint32_t to) {
    entries_[from].successors.push_back(to);
    ++entries_[to].dependencies;
  }

  CUresult Add(const Graph& graph, const GraphNode** culprit) {
    if (entries_.size() + graph.nodes().size() > Graph::kMostNodes) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const bool body = graph.conditional_body();
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      if (body && !AllowedInBody(node->type())) {
        *culprit = node.get();
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      const CUresult result = AddNode(*node, culprit);
      if (result != CUDA_SUCCESS) return result;
    }
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      const uint32_t last = ends_[node.get()].last;
      for (const GraphEdge& edge : node->dependents) {
        Connect(last, ends_[edge.node].first);
      }
    }
    return CUDA_SUCCESS;
  }

  CUresult AddNode(const GraphNode& node, const GraphNode** culprit) {
    std::shared_ptr<const Step> step;
    const auto* conditional = std::get_if<ConditionalWork>(&node.work);
    const CUresult result = conditional == nullptr
                                ? MakeStep(node.work, memory_, &step)
                                : AddBodies(*conditional, &step, culprit);
    if (result != CUDA_SUCCESS) {
      if (*culprit == nullptr) *culprit = &node;
      return result;
    }
    Ends& ends = ends_[&node];
    ends.first = ends.last = Append(&node, std::move(step));
    entries_.back().enabled = node.enabled;
    return node.type() == CU_GRAPH_NODE_TYPE_GRAPH
               ? AddChild(node, *node.graphs().front(), culprit)
               : CUDA_SUCCESS;
  }

  static bool AllowedInBody(CUgraphNodeType type) {
    return type == CU_GRAPH_NODE_TYPE_KERNEL ||
           type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           type == CU_GRAPH_NODE_TYPE_MEMSET ||
           type == CU_GRAPH_NODE_TYPE_EMPTY ||
           type == CU_GRAPH_NODE_TYPE_GRAPH ||
           type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  }

  // Each body becomes a program of its own.
  CUresult AddBodies(const ConditionalWork& node,
                     std::shared_ptr<const Step>* step,
                     const GraphNode** culprit) {
    std::vector<std::shared_ptr<Program>> bodies;
    for (const std::shared_ptr<Graph>& body : node.graphs) {
      Builder builder(memory_, &index_);
      const CUresult result = builder.Build(*body, culprit);
      if (result != CUDA_SUCCESS) return result;
      bodies.push_back(builder.Take(/*body=*/true));
    }
    *step = MakeConditionalStep(node, std::move(bodies));
    return CUDA_SUCCESS;
  }

  CUresult AddChild(const GraphNode& node, const Graph& child,
                    const GraphNode** culprit) {
    const uint32_t first = ends_[&node].first;
    const CUresult result = Add(child, culprit);
    if (result != CUDA_SUCCESS) return result;
    const uint32_t last = Append(nullptr, nullptr);
    ends_[&node].last = last;
    if (child.nodes().empty()) Connect(first, last);
    for (const std::shared_ptr<GraphNode>& inner : child.nodes()) {
      const Ends& ends = ends_[inner.get()];
      if (inner->dependencies.empty()) Connect(first, ends.first);
      if (inner->dependents.empty()) Connect(ends.last, last);
    }
    return CUDA_SUCCESS;
  }

  // Entries get their places in an order that respects the dependencies. Those
  // that stay without one are on a cycle, or behind one.
  CUresult Order(const GraphNode** culprit) {
    constexpr uint32_t kNoPlace = UINT32_MAX;
    std::vector<uint32_t> order, place(entries_.size(), kNoPlace), pending;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      pending.push_back(entries_[i].dependencies);
      if (pending[i] == 0) order.push_back(i);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<uint32_t>(i);
      for (const uint32_t next : entries_[order[i]].successors) {
        if (--pending[next] == 0) order.push_back(next);
      }
    }
    if (order.size() < entries_.size()) {
      *culprit = FindStuck(place);
      return CUDA_ERROR_INVALID_VALUE;
    }
    Emit(order, place);
    return CUDA_SUCCESS;
  }

  const GraphNode* FindStuck(const std::vector<uint32_t>& place) const {
    for (size_t i = 0; i < place.size(); ++i) {
      if (place[i] == UINT32_MAX && nodes_[i] != nullptr) return nodes_[i];
    }
    return nullptr;
  }

  void Emit(const std::vector<uint32_t>& order,
            const std::vector<uint32_t>& place) {
    for (const uint32_t from : order) {
      Program::Entry& entry = ordered_.emplace_back(std::move(entries_[from]));
      for (uint32_t& next : entry.successors) next = place[next];
      if (entry.step != nullptr && entry.step->event() != nullptr) {
        entry.slot = slots_++;
      }
      if (nodes_[from] != nullptr) places_[nodes_[from]] = place[from];
    }
  }

  const MemoryMap& memory_;
  std::vector<Program::Entry> entries_, ordered_;
  std::vector<const GraphNode*> nodes_;  // of the entries
  std::unordered_map<const GraphNode*, Ends> ends_;
  std::unordered_map<const GraphNode*, uint32_t> places_;
  Program::Index& index_;
  uint32_t slots_ = 0;
};

}  // namespace

std::shared_ptr<Program> Program::Build(const Graph& graph,
                                        const MemoryMap& memory, Index* index,
                                        CUresult* error,
                                        const GraphNode** culprit) {
  index->clear();
  Builder builder(memory, index);
  *culprit = nullptr;
  *error = builder.Build(graph, culprit);
  return *error == CUDA_SUCCESS ? builder.Take(/*body=*/false) : nullptr;
}

Program::Program(std::vector<Entry> entries)
    : entries_(std::move(entries)), progress_(entries_.size()) {
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.step != nullptr && entry.step->event() != nullptr) ++slots_;
    const bool last = i + 1 == entries_.size();
    // Those before it are done when it is their turn.
    if (!last && std::find(entry.successors.begin(), entry.successors.end(),
                           i + 1) == entry.successors.end()) {
      chain_ = false;
    }
  }
}

}  // namespace holdfast::software
