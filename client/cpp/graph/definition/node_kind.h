// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_KIND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_KIND_H_

#include "absl/strings/string_view.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// Returns the protocol's name of the node's operation: "launch", "copy rect",
// "conditional" ...; or "node without an operation".
absl::string_view NodeKindName(const v1::GraphNode& node);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_NODE_KIND_H_
