// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_DEFINITION_WALK_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_DEFINITION_WALK_H_

#include "absl/functional/function_ref.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// Calls `visit` for a definition and for all child graphs and branches in it,
// outer definitions first.
void ForEachDefinition(
    const v1::GraphDefinition& definition,
    absl::FunctionRef<void(const v1::GraphDefinition&)> visit);
void ForEachDefinition(v1::GraphDefinition& definition,
                       absl::FunctionRef<void(v1::GraphDefinition&)> visit);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_DEFINITION_WALK_H_
