// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cpp/graph/definition/condition.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/stream.h"
#include "client/cuda/graph/node.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Maps the program's condition handles to the daemon's conditions. Launches
// that take such a handle as an argument need it.
using ConditionMap = std::map<CUgraphConditionalHandle, GraphCondition>;

// A function that runs in this process. The stream of the launch waits until it
// has returned. `side` is a stream on which the function may submit commands.
using HostAction = std::function<void(const holdfast::Stream& side)>;

// A node's work as a node of the daemon's graph, or as an action. Copies of
// ordinary memory are actions: the daemon cannot reach that memory.
struct LoweredWork {
  // The kind of a node never changes: new parameters must be of the same kind.
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

// The values of a kernel's parameters that have the size of a condition's
// handle, by the parameters' positions. A value need not be a handle.
using HandleParameters = std::map<size_t, CUgraphConditionalHandle>;
HandleParameters HandleParametersOf(const KernelWork& kernel);
// Returns true if a parameter is the handle of one of the conditions.
bool NamesCondition(const NodeWork& work, const ConditionMap& conditions);

// Converts the work of a node. Does not wait for work. INVALID_ARGUMENT,
// OUT_OF_RANGE: memory does not exist or is too small. REQUIRES: the node is
// not a child graph or a conditional node.
absl::StatusOr<LoweredWork> Lower(const MemoryMap& memory, const NodeWork& work,
                                  const ConditionMap& conditions);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_LOWERED_WORK_H_
