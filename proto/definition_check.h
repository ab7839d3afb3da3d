// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_PROTO_DEFINITION_CHECK_H_
#define HOLDFAST_PROTO_DEFINITION_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "proto/node_path.h"

namespace holdfast {

// Where a definition stands. CUDA allows other kinds of nodes in each place.
enum class DefinitionPlace {
  kGraph,   // it is the graph itself
  kChild,   // it is a child graph
  kBranch,  // it is a branch of a conditional node
  kChildInBranch,
};

// Sums over a definition, those of child graphs and branches included.
struct DefinitionSize {
  uint64_t nodes = 0;
  uint64_t edges = 0;
};

// Checks all of a graph's definition that can be told without the session's
// resources: ids, dependencies, nesting, conditions, and the limits of
// proto/protocol_limits.h. Errors as CreateGraph says; `*where`, which is empty
// before, then leads to the node. Takes time and memory in proportion to the
// definition, up to the limits; the depth of its recursion is limited.
absl::Status CheckDefinition(const v1::GraphDefinition& definition,
                             DefinitionSize* size, NodePath* where);

// The same for a definition that may become a part of another: it may use
// conditions that the other declares, and declare some that the other tests.
absl::Status CheckPart(const v1::GraphDefinition& definition,
                       DefinitionPlace place, NodePath* where);

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_DEFINITION_CHECK_H_
