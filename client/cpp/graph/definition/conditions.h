// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITIONS_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITIONS_H_

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

// Returns the ids of the conditions that a definition and the definitions in it
// declare.
ConditionIds DeclaredConditions(const v1::GraphDefinition& definition);

// Prepares `node` for a definition that uses the condition ids `used`, and may
// contain the same node already. Conditions in the child graph or the branches
// of `node` get new ids if `used` or another branch has the same id. Adds the
// ids of `node` to `used`.
void MakeConditionsUnique(ConditionIds& used, v1::GraphNode& node);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CONDITIONS_H_
