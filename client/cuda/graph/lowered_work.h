// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_

#include <functional>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cpp/graph/condition.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/stream.h"
#include "client/cuda/graph/node.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The daemon's conditions by the program's handles of them, for the launches
// whose arguments are such handles.
using ConditionMap = std::map<CUgraphConditionalHandle, GraphCondition>;

// Work that this process does, while the stream of the launch waits. `side` is
// a stream on which it may submit commands.
using HostAction = std::function<void(const holdfast::Stream& side)>;

// A node's work as a node of the daemon's graph, or as an action. Copies of
// ordinary memory are actions: the daemon cannot reach that memory.
struct LoweredWork {
  // One of the daemon's nodes gets new parameters of the same kind only.
  enum class Kind {
    kEmpty,
    kLaunch,
    kCopy,
    kCopyBox,
    kFill,
    kEvent,
    kValues,
    kAction
  };

  Kind kind = Kind::kEmpty;
  std::optional<NodeParams> params;  // null for kAction
  HostAction action;
};

// Waits for no work. INVALID_ARGUMENT, OUT_OF_RANGE: memory is not there, or
// too small. REQUIRES: the work is no child graph and no conditional node.
absl::StatusOr<LoweredWork> Lower(const MemoryMap& memory, const NodeWork& work,
                                  const ConditionMap& conditions);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_
