// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/update.h"

#include <optional>

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
  const NodeWork& other;

  template <typename Work>
  const Work& after() const {
    return std::get<Work>(other);
  }

  CUgraphExecUpdateResult operator()(const KernelWork& before) const {
    const KernelWork& now = after<KernelWork>();
    if (before.context != now.context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
    return before.launch.geometry.cooperative == now.launch.geometry.cooperative
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  }

  CUgraphExecUpdateResult operator()(const CopyWork& before) const {
    const CopyWork& now = after<CopyWork>();
    const auto same = [this](const CopyEnd& a, const CopyEnd& b) {
      return a.side == b.side &&
             OwnerOf(memory, a.address) == OwnerOf(memory, b.address);
    };
    return Allow(same(before.copy.source, now.copy.source) &&
                 same(before.copy.destination, now.copy.destination));
  }

  CUgraphExecUpdateResult operator()(const FillWork& before) const {
    const Fill& a = before.fill;
    const Fill& b = after<FillWork>().fill;
    if (!(OwnerOf(memory, a.address) == OwnerOf(memory, b.address))) {
      return Allow(false);
    }
    // A fill of rows: only address and value may change.
    if (a.height <= 1 && b.height <= 1) return Allow(true);
    return Allow(a.height == b.height && a.width == b.width &&
                 a.pitch == b.pitch && a.element == b.element);
  }

  // Values, addresses and wait flags may change, but not what is done.
  CUgraphExecUpdateResult operator()(const ValueWork& before) const {
    const ValueWork& now = after<ValueWork>();
    bool same = before.context == now.context &&
                before.parameters.size() == now.parameters.size();
    for (size_t i = 0; same && i < now.parameters.size(); ++i) {
      same = before.parameters[i].operation == now.parameters[i].operation;
    }
    return Allow(same);
  }

  CUgraphExecUpdateResult operator()(const AllocationWork& before) const {
    return before.allocation == after<AllocationWork>().allocation
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  CUgraphExecUpdateResult operator()(const FreeWork& before) const {
    return before.allocation == after<FreeWork>().allocation
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }

  CUgraphExecUpdateResult operator()(const ConditionalWork& before) const {
    const ConditionalWork& now = after<ConditionalWork>();
    return Allow(before.type == now.type &&
                 before.graphs.size() == now.graphs.size());
  }

  // Host functions, events and nodes that do nothing.
  template <typename Work>
  CUgraphExecUpdateResult operator()(const Work&) const {
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
};

}  // namespace

CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after) {
  return std::visit(Checker{memory, after}, before);
}

}  // namespace holdfast::software
