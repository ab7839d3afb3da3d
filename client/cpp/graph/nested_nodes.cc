// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/nested_nodes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "proto/definition_check.h"

namespace holdfast {
namespace {

NodeParams Conditional(v1::ConditionalNode::Kind kind, GraphCondition condition,
                       const std::vector<const GraphDefinition*>& branches) {
  v1::GraphNode node;
  v1::ConditionalNode& conditional = *node.mutable_conditional();
  conditional.set_condition(condition.id);
  conditional.set_kind(kind);
  for (const GraphDefinition* branch : branches) {
    v1::GraphDefinition message = branch->proto();
    NodePath where;
    const absl::Status status =
        CheckPart(message, DefinitionPlace::kBranch, &where);
    if (!status.ok()) {
      return NodeParams(
          WithPrefix(absl::StrCat("branch ", conditional.branches_size()),
                     AtGraphNode(where.ToString(), where.ids(), status)));
    }
    *conditional.add_branches() = std::move(message);
  }
  return NodeParams(std::move(node));
}

}  // namespace

NodeParams ChildNode(const GraphDefinition& child) {
  v1::GraphNode node;
  *node.mutable_child() = child.proto();
  return NodeParams(std::move(node));
}

NodeParams IfNode(GraphCondition condition, const GraphDefinition& then) {
  return Conditional(v1::ConditionalNode::KIND_IF, condition, {&then});
}

NodeParams IfElseNode(GraphCondition condition, const GraphDefinition& then,
                      const GraphDefinition& otherwise) {
  return Conditional(v1::ConditionalNode::KIND_IF, condition,
                     {&then, &otherwise});
}

NodeParams WhileNode(GraphCondition condition, const GraphDefinition& body) {
  return Conditional(v1::ConditionalNode::KIND_WHILE, condition, {&body});
}

NodeParams SwitchNode(GraphCondition condition,
                      const std::vector<GraphDefinition>& branches) {
  if (branches.empty()) {
    return NodeParams(absl::InvalidArgumentError("a switch without a branch"));
  }
  std::vector<const GraphDefinition*> pointers;
  pointers.reserve(branches.size());
  for (const GraphDefinition& branch : branches) pointers.push_back(&branch);
  return Conditional(v1::ConditionalNode::KIND_SWITCH, condition, pointers);
}

}  // namespace holdfast
