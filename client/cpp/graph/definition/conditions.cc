// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/conditions.h"

#include <atomic>

#include "absl/container/flat_hash_map.h"
#include "client/cpp/graph/definition/definition_walk.h"

namespace holdfast {
namespace {

void Rename(const absl::flat_hash_map<uint32_t, uint32_t>& names,
            v1::GraphDefinition& level) {
  const auto name = [&names](uint32_t id) {
    const auto found = names.find(id);
    return found == names.end() ? id : found->second;
  };
  for (auto& condition : *level.mutable_conditions()) {
    condition.set_id(name(condition.id()));
  }
  for (v1::GraphNode& node : *level.mutable_nodes()) {
    if (node.has_conditional()) {
      v1::ConditionalNode& conditional = *node.mutable_conditional();
      conditional.set_condition(name(conditional.condition()));
    }
    if (!node.has_launch()) continue;
    for (v1::Argument& argument : *node.mutable_launch()->mutable_arguments()) {
      if (!argument.has_graph_condition()) continue;
      argument.set_graph_condition(name(argument.graph_condition()));
    }
  }
}

// Adds the ids of `inner`, as they are afterwards, to `used`.
void MakeUnique(ConditionIds& used, v1::GraphDefinition& inner) {
  const ConditionIds declared = DeclaredConditions(inner);
  absl::flat_hash_map<uint32_t, uint32_t> names;
  for (const uint32_t id : declared) {
    uint32_t name = id;
    while (used.contains(name) || (name != id && declared.contains(name))) {
      name = NewConditionId();
    }
    if (name != id) names[id] = name;
    used.insert(name);
  }
  if (names.empty()) return;
  ForEachDefinition(
      inner, [&names](v1::GraphDefinition& level) { Rename(names, level); });
}

}  // namespace

uint32_t NewConditionId() {
  static std::atomic<uint32_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

ConditionIds DeclaredConditions(const v1::GraphDefinition& definition) {
  ConditionIds ids;
  ForEachDefinition(definition, [&ids](const v1::GraphDefinition& level) {
    for (const auto& condition : level.conditions()) ids.insert(condition.id());
  });
  return ids;
}

void MakeConditionsUnique(ConditionIds& used, v1::GraphNode& node) {
  if (node.has_child()) return MakeUnique(used, *node.mutable_child());
  if (!node.has_conditional()) return;
  for (auto& branch : *node.mutable_conditional()->mutable_branches()) {
    MakeUnique(used, branch);
  }
}

}  // namespace holdfast
