// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NODE_KIND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NODE_KIND_H_

#include "absl/strings/string_view.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// "launch", "copy rect", "conditional" ... as the protocol names the operation;
// "node without an operation".
absl::string_view NodeKindName(const v1::GraphNode& node);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NODE_KIND_H_
