// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/definition_walk.h"

namespace holdfast {

void ForEachDefinition(
    const v1::GraphDefinition& definition,
    absl::FunctionRef<void(const v1::GraphDefinition&)> visit) {
  visit(definition);
  for (const v1::GraphNode& node : definition.nodes()) {
    if (node.has_child()) ForEachDefinition(node.child(), visit);
    for (const v1::GraphDefinition& branch : node.conditional().branches()) {
      ForEachDefinition(branch, visit);
    }
  }
}

void ForEachDefinition(v1::GraphDefinition& definition,
                       absl::FunctionRef<void(v1::GraphDefinition&)> visit) {
  visit(definition);
  for (v1::GraphNode& node : *definition.mutable_nodes()) {
    if (node.has_child()) ForEachDefinition(*node.mutable_child(), visit);
    if (!node.has_conditional()) continue;
    for (v1::GraphDefinition& branch :
         *node.mutable_conditional()->mutable_branches()) {
      ForEachDefinition(branch, visit);
    }
  }
}

}  // namespace holdfast
