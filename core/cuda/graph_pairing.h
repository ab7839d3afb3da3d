// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_GRAPH_PAIRING_H_
#define HOLDFAST_CORE_CUDA_GRAPH_PAIRING_H_

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// A node of an instantiated graph, and the node of another graph that has its
// new work.
template <typename Node>
using NodePair = std::pair<Node*, const Node*>;

// Implements PairNodes. Pairs the nodes of two graphs and of their inner graphs
// by CUDA's rule: first the nodes without dependents, in the order in which
// they were added; then dependencies, in the order of their edges. Not
// thread-safe.
template <typename Graph, typename Node, typename Check>
class GraphPairing {
 public:
  GraphPairing(const Check& check, std::vector<NodePair<Node>>* pairs,
               CUgraphExecUpdateResultInfo* info)
      : check_(check), pairs_(pairs), info_(info) {}

  bool Pair(const Graph& before, const Graph& after) {
    if (before.nodes().size() != after.nodes().size()) {
      return TopologyChanged(nullptr);
    }
    const std::vector<Node*> last = LastNodes(before);
    const std::vector<Node*> other = LastNodes(after);
    for (size_t i = 0; i < other.size(); ++i) {
      if (i >= last.size()) return TopologyChanged(other[i]);
      if (!Join(last[i], other[i], nullptr)) return false;
    }
    if (last.size() > other.size()) return TopologyChanged(nullptr);
    while (!open_.empty()) {
      const auto [node, update] = open_.back();
      open_.pop_back();
      if (!PairDependencies(*node, *update)) return false;
    }
    return true;
  }

 private:
  static std::vector<Node*> LastNodes(const Graph& graph) {
    std::vector<Node*> nodes;
    for (const auto& node : graph.nodes()) {
      if (node->dependents.empty()) nodes.push_back(node.get());
    }
    return nodes;
  }

  bool Differ(CUgraphExecUpdateResult result, const Node* node,
              const Node* from = nullptr) {
    *info_ = {result, node == nullptr ? nullptr : node->handle,
              from == nullptr ? nullptr : from->handle};
    return false;
  }
  bool TopologyChanged(const Node* node, const Node* from = nullptr) {
    return Differ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, from);
  }

  // Makes a pair of the two nodes, if they have none yet. Returns false if they
  // cannot be a pair. `dependent` is the node whose edge led to them; null if
  // they have no dependents.
  bool Join(Node* node, const Node* update, const Node* dependent) {
    const auto known = partners_.find(node);
    const auto taken = partners_.find(update);
    if (known != partners_.end() || taken != partners_.end()) {
      if (known != partners_.end() && known->second == update) return true;
      return dependent == nullptr ? TopologyChanged(update)
                                  : TopologyChanged(dependent, update);
    }
    partners_[node] = update;
    partners_[update] = node;
    if (node->type() != update->type()) {
      return Differ(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, update);
    }
    const CUgraphExecUpdateResult change = check_(node->work, update->work);
    if (change != CU_GRAPH_EXEC_UPDATE_SUCCESS) return Differ(change, update);
    pairs_->push_back({node, update});
    open_.push_back({node, update});
    for (size_t i = 0; i < node->graphs().size(); ++i) {
      if (!GraphPairing(check_, pairs_, info_)
               .Pair(*node->graphs()[i], *update->graphs()[i])) {
        return false;
      }
    }
    return true;
  }

  bool PairDependencies(const Node& node, const Node& update) {
    if (node.dependencies.size() != update.dependencies.size()) {
      return TopologyChanged(&update);
    }
    for (size_t i = 0; i < node.dependencies.size(); ++i) {
      if (!Join(node.dependencies[i].node, update.dependencies[i].node,
                &update)) {
        return false;
      }
    }
    return true;
  }

  const Check& check_;
  std::vector<NodePair<Node>>* const pairs_;
  CUgraphExecUpdateResultInfo* const info_;
  // The partner of each paired node of both graphs.
  std::unordered_map<const Node*, const Node*> partners_;
  // The pairs whose dependencies are not paired yet.
  std::vector<NodePair<Node>> open_;
};

// Appends the pairs of the nodes of two graphs to *pairs. Returns false, with
// the reason and the nodes in *info, if the graphs differ in more than the work
// of their nodes, or if `check` refuses a change. `check` is called with the
// work of two nodes of the same type. It returns CU_GRAPH_EXEC_UPDATE_SUCCESS,
// or the reason why the work of the first node cannot change to that of the
// second.
template <typename Graph, typename Node, typename Check>
bool PairNodes(const Graph& before, const Graph& after, const Check& check,
               std::vector<NodePair<Node>>* pairs,
               CUgraphExecUpdateResultInfo* info) {
  return GraphPairing<Graph, Node, Check>(check, pairs, info)
      .Pair(before, after);
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_PAIRING_H_
