// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/graph_node.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// Returns CUDA's form of a node that holds no other nodes. Uses the code that
// looks up the same message for a stream. Copies and fills of 0 bytes become
// empty nodes. A copy runs on the device of its memory, unless the node's
// device is fixed: because it was named, or because the node is in a branch.
// REQUIRES: scope.uses is not null.
absl::StatusOr<cuda::GraphNode> ToNode(const OperandScope& scope,
                                       const v1::GraphNode& node,
                                       bool device_is_fixed);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
