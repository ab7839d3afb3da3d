// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph_update.h"

#include <tuple>

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

}  // namespace

CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after) {
  return std::visit(ChangeCheck{memory, after}, before);
}

}  // namespace holdfast::libcuda
