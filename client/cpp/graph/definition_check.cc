// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition_check.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/graph/definition_walk.h"
#include "client/cpp/graph/node_kind.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

using Ids = absl::flat_hash_set<uint32_t>;

// Checks one definition and those in it; `path` leads to it.
absl::Status Check(const v1::GraphDefinition& definition,
                   const std::string& path);

absl::Status CheckConditional(const v1::ConditionalNode& node) {
  const int branches = node.branches_size();
  const auto wanted = [branches](int least, int most, const char* kind) {
    if (branches >= least && branches <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " with ", branches, " branches"));
  };
  switch (node.kind()) {
    case v1::ConditionalNode::KIND_IF:
      return wanted(1, 2, "an if");
    case v1::ConditionalNode::KIND_WHILE:
      return wanted(1, 1, "a while");
    case v1::ConditionalNode::KIND_SWITCH:
      return wanted(1, INT32_MAX, "a switch");
    default:
      return absl::InvalidArgumentError(
          "a conditional node that is neither if, while nor switch");
  }
}

absl::Status CheckNode(const v1::GraphNode& node, const Ids& earlier) {
  if (earlier.contains(node.id())) {
    return absl::InvalidArgumentError("the id is used twice");
  }
  Ids seen;
  for (const uint32_t id : node.after()) {
    if (!earlier.contains(id)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "depends on node ", id, ", which does not stand earlier"));
    }
    if (!seen.insert(id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("depends on node ", id, " twice"));
    }
  }
  if (node.operation_case() == v1::GraphNode::OPERATION_NOT_SET) {
    return absl::InvalidArgumentError("has no operation");
  }
  return node.has_conditional() ? CheckConditional(node.conditional())
                                : absl::OkStatus();
}

absl::Status CheckInside(const v1::GraphNode& node, const std::string& name) {
  if (node.has_child()) {
    return Check(node.child(), absl::StrCat(name, ", "));
  }
  for (int i = 0; i < node.conditional().branches_size(); ++i) {
    const v1::GraphDefinition& branch = node.conditional().branches(i);
    const std::string path = absl::StrCat(name, ", branch ", i, ", ");
    for (const v1::GraphNode& inner : branch.nodes()) {
      if (MayBeInBranch(inner)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, "node ", inner.id(), ": a ", NodeKindName(inner),
                       " cannot be in a branch"));
    }
    HOLDFAST_RETURN_IF_ERROR(Check(branch, path));
  }
  return absl::OkStatus();
}

absl::Status Check(const v1::GraphDefinition& definition,
                   const std::string& path) {
  Ids earlier;
  for (const v1::GraphNode& node : definition.nodes()) {
    const std::string name = absl::StrCat(path, "node ", node.id());
    const absl::Status status = CheckNode(node, earlier);
    if (!status.ok()) return WithPrefix(name, status);
    earlier.insert(node.id());
    HOLDFAST_RETURN_IF_ERROR(CheckInside(node, name));
  }
  return absl::OkStatus();
}

// The depth alone, without recursion, so that what follows may recurse.
absl::Status CheckDepth(const v1::GraphDefinition& definition) {
  std::vector<std::pair<const v1::GraphDefinition*, int>> rest = {
      {&definition, 0}};
  while (!rest.empty()) {
    const auto [next, depth] = rest.back();
    rest.pop_back();
    if (depth > kMaxDefinitionDepth) {
      return absl::OutOfRangeError(
          absl::StrCat("more than ", kMaxDefinitionDepth,
                       " levels of child graphs and branches"));
    }
    for (const v1::GraphNode& node : next->nodes()) {
      if (node.has_child()) rest.emplace_back(&node.child(), depth + 1);
      for (const v1::GraphDefinition& branch : node.conditional().branches()) {
        rest.emplace_back(&branch, depth + 1);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDefinition(const v1::GraphDefinition& definition) {
  HOLDFAST_RETURN_IF_ERROR(CheckDepth(definition));
  Ids conditions;
  uint32_t twice = 0;
  bool unique = true;
  ForEachDefinition(definition, [&](const v1::GraphDefinition& level) {
    for (const v1::GraphCondition& condition : level.conditions()) {
      if (conditions.insert(condition.id()).second) continue;
      unique = false;
      twice = condition.id();
    }
  });
  if (!unique) {
    return absl::InvalidArgumentError(
        absl::StrCat("condition ", twice, " is declared twice"));
  }
  return Check(definition, "");
}

}  // namespace holdfast
