// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/update.h"

#include <unordered_map>

namespace holdfast::software {
namespace {

// Whose memory an address is; host memory that CUDA does not know is nobody's.
struct Owner {
  bool known = false;
  CUdevice device = 0;
  bool host = false;

  bool operator==(const Owner&) const = default;
};

Owner OwnerOf(const MemoryMap& memory, uintptr_t address) {
  const std::optional<Region> region = memory.Find(address);
  if (!region.has_value()) return {};
  return {true, region->device, IsHost(region->kind)};
}

CUgraphExecUpdateResult Allow(bool allowed) {
  return allowed ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                 : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

// Whether one kind of node may change.
struct Checker {
  const MemoryMap& memory;
  const NodeParameters& other;

  template <typename Node>
  const Node& after() const {
    return std::get<Node>(other);
  }

  CUgraphExecUpdateResult operator()(const KernelNode& before) const {
    const KernelNode& now = after<KernelNode>();
    if (before.context != now.context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
    return before.launch.geometry.cooperative == now.launch.geometry.cooperative
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  }

  CUgraphExecUpdateResult operator()(const CopyNode& before) const {
    const CopyNode& now = after<CopyNode>();
    const auto same = [this](const CopyEnd& a, const CopyEnd& b) {
      return a.side == b.side &&
             OwnerOf(memory, a.address) == OwnerOf(memory, b.address);
    };
    return Allow(same(before.copy.source, now.copy.source) &&
                 same(before.copy.destination, now.copy.destination));
  }

  CUgraphExecUpdateResult operator()(const FillNode& before) const {
    const Fill& a = before.fill;
    const Fill& b = after<FillNode>().fill;
    if (!(OwnerOf(memory, a.address) == OwnerOf(memory, b.address))) {
      return Allow(false);
    }
    // A fill of rows: only address and value may change.
    if (a.height <= 1 && b.height <= 1) return Allow(true);
    return Allow(a.height == b.height && a.width == b.width &&
                 a.pitch == b.pitch && a.element == b.element);
  }

  // Values, addresses and wait flags may change, but not what is done.
  CUgraphExecUpdateResult operator()(const BatchNode& before) const {
    const BatchNode& now = after<BatchNode>();
    bool same = before.context == now.context &&
                before.parameters.size() == now.parameters.size();
    for (size_t i = 0; same && i < now.parameters.size(); ++i) {
      same = before.parameters[i].operation == now.parameters[i].operation;
    }
    return Allow(same);
  }

  CUgraphExecUpdateResult operator()(const AllocationNode& before) const {
    return before.allocation == after<AllocationNode>().allocation
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  CUgraphExecUpdateResult operator()(const FreeNode& before) const {
    return before.allocation == after<FreeNode>().allocation
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }

  CUgraphExecUpdateResult operator()(const ConditionalNode& before) const {
    const ConditionalNode& now = after<ConditionalNode>();
    return Allow(before.type == now.type &&
                 before.graphs.size() == now.graphs.size());
  }

  // Host functions, events and nodes that do nothing.
  template <typename Node>
  CUgraphExecUpdateResult operator()(const Node&) const {
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
};

// Pairs the nodes of one pair of graphs.
class Pairing {
 public:
  Pairing(const MemoryMap& memory, std::vector<NodePair>* pairs,
          CUgraphExecUpdateResultInfo* info)
      : memory_(memory), pairs_(pairs), info_(info) {}

  bool Pair(const Graph& before, const Graph& after) {
    if (before.nodes().size() != after.nodes().size()) {
      return Differ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
    }
    std::vector<GraphNode*> last = LastNodes(before);
    const std::vector<GraphNode*> other = LastNodes(after);
    for (size_t i = 0; i < other.size(); ++i) {
      if (i >= last.size()) return TopologyChanged(other[i]);
      if (!Meet(last[i], other[i], nullptr)) return false;
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
  static std::vector<GraphNode*> LastNodes(const Graph& graph) {
    std::vector<GraphNode*> nodes;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      if (node->dependents.empty()) nodes.push_back(node.get());
    }
    return nodes;
  }

  bool Differ(CUgraphExecUpdateResult result, const GraphNode* node,
              const GraphNode* from = nullptr) {
    *info_ = {result, node == nullptr ? nullptr : node->handle,
              from == nullptr ? nullptr : from->handle};
    return false;
  }
  bool TopologyChanged(const GraphNode* node, const GraphNode* from = nullptr) {
    return Differ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, from);
  }

  // `dependent` is the node whose edge led here; null for a last node.
  bool Meet(GraphNode* node, const GraphNode* update,
            const GraphNode* dependent) {
    const auto met = partners_.find(update);
    if (met != partners_.end() || paired_.count(node) > 0) {
      if (met != partners_.end() && met->second == node) return true;
      return dependent == nullptr ? TopologyChanged(update)
                                  : TopologyChanged(dependent, update);
    }
    partners_[update] = node;
    paired_[node] = update;
    if (node->type() != update->type()) {
      return Differ(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, update);
    }
    const CUgraphExecUpdateResult change =
        CheckChange(node->parameters, update->parameters, memory_);
    if (change != CU_GRAPH_EXEC_UPDATE_SUCCESS) return Differ(change, update);
    pairs_->push_back({node, update});
    open_.push_back({node, update});
    for (size_t i = 0; i < node->graphs().size(); ++i) {
      if (!PairNodes(*node->graphs()[i], *update->graphs()[i], memory_, pairs_,
                     info_)) {
        return false;
      }
    }
    return true;
  }

  bool PairDependencies(const GraphNode& node, const GraphNode& update) {
    if (node.dependencies.size() != update.dependencies.size()) {
      return TopologyChanged(&update);
    }
    for (size_t i = 0; i < node.dependencies.size(); ++i) {
      if (!Meet(node.dependencies[i].node, update.dependencies[i].node,
                &update)) {
        return false;
      }
    }
    return true;
  }

  const MemoryMap& memory_;
  std::vector<NodePair>* const pairs_;
  CUgraphExecUpdateResultInfo* const info_;
  std::unordered_map<const GraphNode*, GraphNode*> partners_;
  std::unordered_map<const GraphNode*, const GraphNode*> paired_;
  std::vector<NodePair> open_;  // whose dependencies are not paired yet
};

}  // namespace

CUgraphExecUpdateResult CheckChange(const NodeParameters& before,
                                    const NodeParameters& after,
                                    const MemoryMap& memory) {
  return std::visit(Checker{memory, after}, before);
}

bool PairNodes(const Graph& before, const Graph& after, const MemoryMap& memory,
               std::vector<NodePair>* pairs,
               CUgraphExecUpdateResultInfo* info) {
  return Pairing(memory, pairs, info).Pair(before, after);
}

}  // namespace holdfast::software
