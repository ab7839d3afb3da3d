// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURED_COMMAND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURED_COMMAND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/graph/definition/node_value.h"

namespace holdfast {

// Returns the nodes for a command of a capturing stream, by the column `node`
// of proto/commands.inc: one node, or one for each copy of a batch, without an
// order among them. `command` has the encoded fields of a Command.
// FAILED_PRECONDITION: a graph has no such node; the message names the
// alternative.
absl::StatusOr<std::vector<NodeParams>> ToNodes(absl::string_view command);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURED_COMMAND_H_
