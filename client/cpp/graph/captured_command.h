// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Returns the nodes that a command of a capturing stream becomes, without ids
// and dependencies: one, or for a batch of copies one each, in no order among
// themselves. FAILED_PRECONDITION: a graph has no such node; the message tells
// what to do instead.
absl::StatusOr<std::vector<v1::GraphNode>> ToNodes(const v1::Command& command);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_
