// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/graph_node.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// Makes CUDA's form of a node that holds no other nodes, by the code that
// carries out the same message on a stream. Copies and fills of 0 bytes become
// empty nodes. A copy runs on the device of its memory, unless the node's
// device is fixed, since it was named or the node is in a branch. REQUIRES:
// scope.uses is not null.
absl::StatusOr<cuda::GraphNode> ToNode(const OperandScope& scope,
                                       const v1::GraphNode& node,
                                       bool device_is_fixed);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_NODE_PARAMETERS_H_
