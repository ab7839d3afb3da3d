// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"

namespace holdfast {

namespace v1 {
class GraphDefinition;
class GraphNode;
}  // namespace v1

// Returns an id for a new condition. Ids are unique in the process, so that the
// body of a conditional node can be built apart from the definition that
// declares its condition.
uint32_t NewConditionId();

using ConditionIds = absl::flat_hash_set<uint32_t>;

// Returns the conditions that a definition and those in it declare.
ConditionIds DeclaredConditions(const v1::GraphDefinition& definition);

// Gives new ids to the conditions that the child graph or the branches of
// `node` declare, where `used` or another branch has the same: the node is
// about to become a part of a definition that has `used`, perhaps once more.
// Adds those of `node` to `used`.
void MakeConditionsUnique(ConditionIds& used, v1::GraphNode& node);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_
