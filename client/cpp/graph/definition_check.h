// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CHECK_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CHECK_H_

#include "absl/status/status.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// Checks what a definition tells by itself: ids, dependencies, conditions,
// branches. Handles, sizes and arguments are for the daemon, and so is whether
// a condition is declared: a body may use one of the definition that it becomes
// a part of. The message names the node by its path: "node 7, branch 0, node
// 3". INVALID_ARGUMENT, or OUT_OF_RANGE beyond kMaxDefinitionDepth levels.
absl::Status CheckDefinition(const v1::GraphDefinition& definition);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CHECK_H_
