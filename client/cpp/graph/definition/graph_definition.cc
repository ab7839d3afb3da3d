// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/graph_definition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "proto/definition_check.h"

namespace holdfast {

v1::GraphNode GraphDefinition::Node::ToMessage() const {
  v1::GraphNode node = params.proto();
  node.set_id(id);
  node.mutable_after()->Assign(after.begin(), after.end());
  return node;
}

v1::GraphCondition GraphDefinition::Condition::ToMessage() const {
  v1::GraphCondition condition;
  condition.set_id(id);
  if (default_value.has_value()) condition.set_default_value(*default_value);
  return condition;
}

absl::StatusOr<GraphDefinition> GraphDefinition::FromProto(
    const v1::GraphDefinition& message) {
  NodePath where;
  const absl::Status checked =
      CheckPart(message, DefinitionPlace::kGraph, &where);
  if (!checked.ok()) {
    return AtGraphNode(where.ToString(), where.ids(), checked);
  }
  GraphDefinition definition;
  definition.nodes_.reserve(static_cast<size_t>(message.nodes_size()));
  for (const v1::GraphNode& node : message.nodes()) {
    definition.index_[node.id()] = definition.nodes_.size();
    definition.next_id_ = std::max(definition.next_id_, node.id() + 1);
    definition.nodes_.push_back({node.id(),
                                 {node.after().begin(), node.after().end()},
                                 NodeParams(node)});
  }
  for (const v1::GraphCondition& condition : message.conditions()) {
    Condition& read = definition.conditions_.emplace_back();
    read.id = condition.id();
    if (condition.has_default_value()) {
      read.default_value = condition.default_value();
    }
  }
  definition.used_conditions_ = DeclaredConditions(message);
  return definition;
}

absl::StatusOr<size_t> GraphDefinition::IndexOf(GraphNode node) const {
  const auto found = index_.find(node.id);
  if (found != index_.end()) return found->second;
  return absl::NotFoundError(
      absl::StrCat("the definition has no node ", node.id));
}

std::vector<GraphNode> GraphDefinition::nodes() const {
  std::vector<GraphNode> nodes;
  nodes.reserve(size());
  for (const Node& node : nodes_) nodes.push_back({node.id});
  return nodes;
}

DefinedNode GraphDefinition::node(size_t index) const {
  const Node& found = nodes_[index];
  return {found.id, found.after, found.params};
}

v1::GraphDefinition GraphDefinition::proto() const {
  v1::GraphDefinition message;
  for (const Node& node : nodes_) *message.add_nodes() = node.ToMessage();
  for (const Condition& condition : conditions_) {
    *message.add_conditions() = condition.ToMessage();
  }
  return message;
}

void GraphDefinition::Encode(WireWriter& writer) const {
  using Fields = v1::fields::GraphDefinition;
  for (const Node& node : nodes_) {
    writer.Message(Fields::kNodes, [&] {
      writer.Write(v1::fields::GraphNode::kId, node.id);
      for (const uint32_t id : node.after) {
        writer.Write(v1::fields::GraphNode::kAfter, id);
      }
      writer.Append(node.params.fields());
    });
  }
  for (const Condition& condition : conditions_) {
    writer.Message(Fields::kConditions,
                   [&] { writer.Fields(condition.ToMessage()); });
  }
}

absl::StatusOr<NodeParams> GraphDefinition::Adapt(NodeParams params) {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  if (!params.holds_graphs()) return params;
  v1::GraphNode node = params.proto();
  MakeConditionsUnique(used_conditions_, node);
  return NodeParams(std::move(node));
}

absl::StatusOr<GraphNode> GraphDefinition::Add(
    NodeParams params, const std::vector<GraphNode>& after) {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  absl::InlinedVector<uint32_t, 2> ids;
  for (size_t i = 0; i < after.size(); ++i) {
    HOLDFAST_RETURN_IF_ERROR(IndexOf(after[i]).status());
    if (std::find(after.begin(), after.begin() + i, after[i]) !=
        after.begin() + i) {
      return absl::InvalidArgumentError(
          absl::StrCat("depends on node ", after[i].id, " twice"));
    }
    ids.push_back(after[i].id);
  }
  HOLDFAST_ASSIGN_OR_RETURN(NodeParams adapted, Adapt(std::move(params)));
  while (next_id_ == 0 || index_.contains(next_id_)) ++next_id_;
  index_[next_id_] = nodes_.size();
  nodes_.push_back({next_id_, std::move(ids), std::move(adapted)});
  return GraphNode{next_id_++};
}

GraphCondition GraphDefinition::CreateCondition(
    std::optional<uint32_t> default_value) {
  Condition& condition = conditions_.emplace_back();
  // A definition that was read from somewhere may have used the id.
  do {
    condition.id = NewConditionId();
  } while (!used_conditions_.insert(condition.id).second);
  condition.default_value = default_value;
  return {condition.id};
}

absl::Status GraphDefinition::Set(GraphNode node, NodeParams params) {
  HOLDFAST_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
  HOLDFAST_ASSIGN_OR_RETURN(nodes_[index].params, Adapt(std::move(params)));
  return absl::OkStatus();
}

absl::Status GraphDefinition::Remove(GraphNode node) {
  HOLDFAST_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(index));
  index_.erase(node.id);
  for (size_t i = index; i < nodes_.size(); ++i) {
    Node& later = nodes_[i];
    --index_[later.id];
    later.after.erase(
        std::remove(later.after.begin(), later.after.end(), node.id),
        later.after.end());
  }
  return absl::OkStatus();
}

}  // namespace holdfast
