// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_

#include <cstdint>

#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// Returns an id for a new condition. Ids are unique in the process, so that the
// body of a conditional node can be built apart from the definition that
// declares its condition.
uint32_t NewConditionId();

// Gives new ids to the conditions that the child graph or the branches of
// `node` declare, where `outer` or another branch declares the same: the node
// is about to become a part of `outer`, perhaps once more.
void MakeConditionsUnique(const v1::GraphDefinition& outer,
                          v1::GraphNode& node);
// The same for a new condition of `outer`.
void MakeConditionUnique(const v1::GraphDefinition& outer,
                         v1::GraphCondition& condition);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_CONDITIONS_H_
