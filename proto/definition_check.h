// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_PROTO_DEFINITION_CHECK_H_
#define HOLDFAST_PROTO_DEFINITION_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "proto/node_path.h"

namespace holdfast {

// The place of a definition in a graph. CUDA allows different kinds of nodes in
// different places.
enum class DefinitionPlace {
  kGraph,          // the graph itself
  kChild,          // a child graph
  kBranch,         // a branch of a conditional node
  kChildInBranch,  // a child graph in a branch
};

// The numbers of nodes and edges in a definition, child graphs and branches
// included.
struct DefinitionSize {
  uint64_t nodes = 0;
  uint64_t edges = 0;
};

// Checks a graph's definition as far as possible without the session's
// resources: ids, dependencies, nesting, conditions, and the limits of
// proto/protocol_limits.h. Fails with the errors that CreateGraph documents;
// `*where` then leads to the node that failed. REQUIRES: `*where` is empty.
// Takes time and memory in proportion to the definition, up to the limits. The
// depth of the recursion is limited.
absl::Status CheckDefinition(const v1::GraphDefinition& definition,
                             DefinitionSize* size, NodePath* where);

// Does the same checks for a definition that may become a part of another
// definition. The part may use conditions that the other definition declares,
// and may declare conditions that the other definition tests.
absl::Status CheckPart(const v1::GraphDefinition& definition,
                       DefinitionPlace place, NodePath* where);

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_DEFINITION_CHECK_H_
