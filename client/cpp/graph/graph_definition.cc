// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph_definition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/graph/conditions.h"
#include "client/cpp/graph/definition_check.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<GraphDefinition> GraphDefinition::FromProto(
    v1::GraphDefinition message) {
  HOLDFAST_RETURN_IF_ERROR(CheckDefinition(message));
  GraphDefinition definition;
  for (int i = 0; i < message.nodes_size(); ++i) {
    const uint32_t id = message.nodes(i).id();
    definition.index_[id] = i;
    definition.next_id_ = std::max(definition.next_id_, id + 1);
  }
  definition.message_ = std::move(message);
  return definition;
}

absl::StatusOr<int> GraphDefinition::IndexOf(GraphNode node) const {
  const auto found = index_.find(node.id);
  if (found != index_.end()) return found->second;
  return absl::NotFoundError(
      absl::StrCat("the definition has no node ", node.id));
}

absl::StatusOr<const v1::GraphNode*> GraphDefinition::Find(
    GraphNode node) const {
  HOLDFAST_ASSIGN_OR_RETURN(const int index, IndexOf(node));
  return &message_.nodes(index);
}

std::vector<GraphNode> GraphDefinition::nodes() const {
  std::vector<GraphNode> nodes;
  nodes.reserve(size());
  for (const v1::GraphNode& node : message_.nodes()) {
    nodes.push_back({node.id()});
  }
  return nodes;
}

absl::StatusOr<v1::GraphNode> GraphDefinition::Adapt(NodeParams params) const {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  v1::GraphNode node = std::move(params).proto();
  MakeConditionsUnique(message_, node);
  return node;
}

absl::StatusOr<GraphNode> GraphDefinition::Add(
    NodeParams params, const std::vector<GraphNode>& after) {
  HOLDFAST_ASSIGN_OR_RETURN(v1::GraphNode node, Adapt(std::move(params)));
  for (size_t i = 0; i < after.size(); ++i) {
    HOLDFAST_RETURN_IF_ERROR(IndexOf(after[i]).status());
    if (std::find(after.begin(), after.begin() + i, after[i]) !=
        after.begin() + i) {
      return absl::InvalidArgumentError(
          absl::StrCat("depends on node ", after[i].id, " twice"));
    }
    node.add_after(after[i].id);
  }
  while (next_id_ == 0 || index_.contains(next_id_)) ++next_id_;
  node.set_id(next_id_);
  index_[next_id_] = message_.nodes_size();
  *message_.add_nodes() = std::move(node);
  return GraphNode{next_id_++};
}

GraphCondition GraphDefinition::CreateCondition(
    std::optional<uint32_t> default_value) {
  v1::GraphCondition condition;
  condition.set_id(NewConditionId());
  // A definition that was read from somewhere may have used the id.
  MakeConditionUnique(message_, condition);
  if (default_value.has_value()) condition.set_default_value(*default_value);
  *message_.add_conditions() = condition;
  return {condition.id()};
}

absl::Status GraphDefinition::Set(GraphNode node, NodeParams params) {
  HOLDFAST_ASSIGN_OR_RETURN(const int index, IndexOf(node));
  HOLDFAST_ASSIGN_OR_RETURN(v1::GraphNode changed, Adapt(std::move(params)));
  v1::GraphNode& there = *message_.mutable_nodes(index);
  changed.set_id(node.id);
  *changed.mutable_after() = there.after();
  there = std::move(changed);
  return absl::OkStatus();
}

absl::Status GraphDefinition::Remove(GraphNode node) {
  HOLDFAST_ASSIGN_OR_RETURN(const int index, IndexOf(node));
  message_.mutable_nodes()->DeleteSubrange(index, 1);
  index_.erase(node.id);
  for (int i = index; i < message_.nodes_size(); ++i) {
    v1::GraphNode& later = *message_.mutable_nodes(i);
    --index_[later.id()];
    auto& after = *later.mutable_after();
    after.erase(std::remove(after.begin(), after.end(), node.id), after.end());
  }
  return absl::OkStatus();
}

}  // namespace holdfast
