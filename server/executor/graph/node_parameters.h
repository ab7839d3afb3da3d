// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/graph_node.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// Returns CUDA's form of a node that contains no other nodes. Looks up the
// operands as for a command on a stream, and fails as that command. Copies and
// fills of 0 bytes become empty nodes. A copy runs on the device of its memory,
// unless `device_is_fixed`: the node names its device or is in a branch.
// REQUIRES: scope.uses and scope.holds are not null.
absl::StatusOr<cuda::GraphNode> ToNode(const OperandScope& scope,
                                       const v1::GraphNode& node,
                                       bool device_is_fixed);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
