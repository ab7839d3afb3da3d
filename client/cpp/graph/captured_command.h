// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/graph/node_value.h"

namespace holdfast {

// Returns the nodes that a command of a capturing stream becomes, by the column
// `node` of proto/commands.inc: one, or for a batch of copies one each, in no
// order among themselves. `command` has the encoded fields of a Command.
// FAILED_PRECONDITION: a graph has no such node; the message tells what to do
// instead.
absl::StatusOr<std::vector<NodeParams>> ToNodes(absl::string_view command);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_CAPTURED_COMMAND_H_
