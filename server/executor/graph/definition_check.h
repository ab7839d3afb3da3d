// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_DEFINITION_CHECK_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_DEFINITION_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast::executor {

// Sums over a definition, those of child graphs and branches included.
struct DefinitionSize {
  uint64_t nodes = 0;
  uint64_t edges = 0;
};

// Checks all of a definition that can be told without the session's resources:
// ids, dependencies, nesting, conditions, and the limits of
// proto/protocol_limits.h. Errors as CreateGraph says, with the node's path.
// Takes time and memory in proportion to the definition, up to the limits.
absl::Status CheckDefinition(const v1::GraphDefinition& definition,
                             DefinitionSize* size);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_DEFINITION_CHECK_H_
