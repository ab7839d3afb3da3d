// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph_update.h"

#include <tuple>
#include <unordered_map>

namespace holdfast::libcuda {
namespace {

CUgraphExecUpdateResult Allow(bool allowed) {
  return allowed ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                 : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

// Compares the work of one kind of node.
struct ChangeCheck {
  const MemoryMap& memory;
  const NodeWork& other;

  template <typename Work>
  const Work& after() const {
    return std::get<Work>(other);
  }

  // Memory of the same device, or of the program both times.
  bool IsSameMemory(uint64_t a, uint64_t b) const {
    const auto owner = [this](uint64_t address) {
      const auto found = memory.Find(address);
      return found == nullptr
                 ? std::tuple(false, false, 0)
                 : std::tuple(true, found->is_host(), found->ordinal);
    };
    return owner(a) == owner(b);
  }
  bool IsSameEnd(const CopyEnd& a, const CopyEnd& b) const {
    return a.side == b.side && IsSameMemory(a.address, b.address);
  }

  CUgraphExecUpdateResult operator()(const KernelWork& before) const {
    const KernelWork& now = after<KernelWork>();
    if (!(before.context == now.context)) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
    return before.config.cooperative == now.config.cooperative
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  }

  CUgraphExecUpdateResult operator()(const CopyWork& before) const {
    const CopyDescription& now = after<CopyWork>().copy;
    return Allow(IsSameEnd(before.copy.source, now.source) &&
                 IsSameEnd(before.copy.destination, now.destination));
  }

  // A fill of several rows may change its address and its value only.
  CUgraphExecUpdateResult operator()(const FillWork& before) const {
    const CUDA_MEMSET_NODE_PARAMS& a = before.parameters;
    const CUDA_MEMSET_NODE_PARAMS& b = after<FillWork>().parameters;
    const bool same_shape =
        std::tie(a.height, a.width, a.pitch, a.elementSize) ==
        std::tie(b.height, b.width, b.pitch, b.elementSize);
    return Allow(IsSameMemory(a.dst, b.dst) &&
                 ((a.height <= 1 && b.height <= 1) || same_shape));
  }

  template <typename Work>
  CUgraphExecUpdateResult CompareAllocations(const Work& before) const {
    return before.allocation == after<Work>().allocation
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  CUgraphExecUpdateResult operator()(const AllocationWork& before) const {
    return CompareAllocations(before);
  }
  CUgraphExecUpdateResult operator()(const FreeWork& before) const {
    return CompareAllocations(before);
  }

  CUgraphExecUpdateResult operator()(const ConditionalWork& before) const {
    const ConditionalWork& now = after<ConditionalWork>();
    return Allow(before.type == now.type &&
                 before.graphs.size() == now.graphs.size());
  }

  // Functions, events, and nodes that do nothing by themselves.
  template <typename Work>
  CUgraphExecUpdateResult operator()(const Work&) const {
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
};

// Pairs the nodes of one graph and another.
class Pairing {
 public:
  Pairing(const MemoryMap& memory, std::vector<NodePair>* pairs,
          CUgraphExecUpdateResultInfo* info)
      : memory_(memory), pairs_(pairs), info_(info) {}

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
    for (const std::shared_ptr<Node>& node : graph.nodes()) {
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

  // `dependent` has the edge that led to the nodes; null: none did.
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
    const CUgraphExecUpdateResult change =
        CheckChange(memory_, node->work, update->work);
    if (change != CU_GRAPH_EXEC_UPDATE_SUCCESS) return Differ(change, update);
    pairs_->push_back({node, update});
    open_.push_back({node, update});
    for (size_t i = 0; i < node->graphs().size(); ++i) {
      if (!PairNodes(memory_, *node->graphs()[i], *update->graphs()[i], pairs_,
                     info_)) {
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

  const MemoryMap& memory_;
  std::vector<NodePair>* const pairs_;
  CUgraphExecUpdateResultInfo* const info_;
  // Both ways: of nodes of the one graph and of the other.
  std::unordered_map<const Node*, const Node*> partners_;
  std::vector<NodePair> open_;  // whose dependencies are not paired yet
};

}  // namespace

CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after) {
  return std::visit(ChangeCheck{memory, after}, before);
}

bool PairNodes(const MemoryMap& memory, const Graph& before, const Graph& after,
               std::vector<NodePair>* pairs,
               CUgraphExecUpdateResultInfo* info) {
  return Pairing(memory, pairs, info).Pair(before, after);
}

}  // namespace holdfast::libcuda
