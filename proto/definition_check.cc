// SPDX-License-Identifier: Apache-2.0
#include "proto/definition_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "proto/node_index.h"
#include "proto/node_path.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

using Operation = v1::GraphNode::OperationCase;
using Place = DefinitionPlace;

bool InBranch(Place place) {
  return place == Place::kBranch || place == Place::kChildInBranch;
}

absl::Status OverLimit(absl::string_view what, uint64_t limit) {
  return absl::OutOfRangeError(
      absl::StrCat("the graph has more than ", limit, " ", what));
}

// INVALID_ARGUMENT: CUDA has no such node there.
absl::Status CheckPlace(Operation operation, Place place) {
  const char* what = nullptr;
  switch (operation) {
    case v1::GraphNode::kConditional:
      if (place == Place::kChild || place == Place::kChildInBranch) {
        return absl::InvalidArgumentError(
            "a child graph cannot have conditional nodes");
      }
      return absl::OkStatus();
    case v1::GraphNode::kAllocation:
    case v1::GraphNode::kFree:
      if (place == Place::kGraph) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "only the graph itself can allocate and free, no child graph and no "
          "branch");
    case v1::GraphNode::kRecord:
      what = "record events";
      break;
    case v1::GraphNode::kWait:
      what = "wait for events";
      break;
    case v1::GraphNode::kSignalSemaphore:
      what = "signal semaphores";
      break;
    case v1::GraphNode::kWaitSemaphore:
      what = "wait for semaphores";
      break;
    case v1::GraphNode::kValueBatch:
      what = "write values or wait for them";
      break;
    case v1::GraphNode::OPERATION_NOT_SET:
      return absl::InvalidArgumentError(
          "a node without an operation, or one that this server does not know");
    default:
      return absl::OkStatus();
  }
  if (!InBranch(place)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a branch of a conditional node cannot ", what));
}

absl::Status CheckBranchCount(const v1::ConditionalNode& node) {
  const auto branches = static_cast<uint64_t>(node.branches_size());
  const auto refuse = [&](absl::string_view rule) {
    return absl::InvalidArgumentError(
        absl::StrCat(branches, branches == 1 ? " branch" : " branches",
                     " of a conditional node of kind ",
                     v1::ConditionalNode::Kind_Name(node.kind()), ": ", rule));
  };
  switch (node.kind()) {
    case v1::ConditionalNode::KIND_IF:
      if (branches == 1 || branches == 2) return absl::OkStatus();
      return refuse("it has one, or two with an else");
    case v1::ConditionalNode::KIND_WHILE:
      return branches == 1 ? absl::OkStatus() : refuse("it has one");
    case v1::ConditionalNode::KIND_SWITCH:
      if (branches == 0) return refuse("it has at least one");
      if (branches <= kMaxGraphBranches) return absl::OkStatus();
      return absl::OutOfRangeError(absl::StrCat("a switch of ", branches,
                                                " branches: the limit is ",
                                                kMaxGraphBranches));
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown kind of conditional node ", static_cast<int>(node.kind())));
  }
}

class Checker {
 public:
  // `part`: the definition may become a part of another.
  Checker(bool part, DefinitionSize* size, NodePath* where)
      : part_(part), size_(*size), path_(*where) {}

  absl::Status Check(const v1::GraphDefinition& definition, Place place) {
    absl::Status status = Descend(definition, place, /*depth=*/1);
    if (!status.ok()) return status;
    for (const auto& [condition, node] : conditions_) {
      if (part_ || !node.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("condition ", condition, " is tested by no node"));
    }
    return absl::OkStatus();
  }

 private:
  // After a failure `path_` leads to the node that failed. Recursion is as deep
  // as kMaxGraphDepth.
  absl::Status Descend(const v1::GraphDefinition& definition, Place place,
                       uint32_t depth) {
    if (depth > kMaxGraphDepth) {
      return OverLimit("definitions in each other", kMaxGraphDepth);
    }
    size_.nodes += static_cast<uint64_t>(definition.nodes_size());
    if (size_.nodes > kMaxGraphNodes) {
      return OverLimit("nodes", kMaxGraphNodes);
    }
    absl::Status declared = Declare(definition);
    if (!declared.ok()) return declared;
    NodeIndex earlier;
    for (const v1::GraphNode& node : definition.nodes()) {
      path_.Enter(node.id());
      absl::Status status = CheckNode(node, place, earlier);
      if (status.ok()) status = DescendFrom(node, place, depth);
      if (!status.ok()) return status;
      path_.Leave();
    }
    return absl::OkStatus();
  }

  absl::Status DescendFrom(const v1::GraphNode& node, Place place,
                           uint32_t depth) {
    if (node.has_child()) {
      const Place inner =
          InBranch(place) ? Place::kChildInBranch : Place::kChild;
      return Descend(node.child(), inner, depth + 1);
    }
    if (!node.has_conditional()) return absl::OkStatus();
    uint32_t branch = 0;
    for (const v1::GraphDefinition& each : node.conditional().branches()) {
      path_.SetBranch(branch++);
      absl::Status status = Descend(each, Place::kBranch, depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Adds the node to those that stand earlier.
  absl::Status CheckNode(const v1::GraphNode& node, Place place,
                         NodeIndex& earlier) {
    absl::Status status = CheckEdges(node, earlier);
    if (!earlier.Append(node.id())) {
      return absl::InvalidArgumentError("another node has the same id");
    }
    if (status.ok()) status = CheckPlace(node.operation_case(), place);
    if (!status.ok() || !node.has_conditional()) return status;
    status = CheckBranchCount(node.conditional());
    return status.ok() ? Test(node.conditional().condition()) : status;
  }

  absl::Status CheckEdges(const v1::GraphNode& node, const NodeIndex& earlier) {
    size_.edges += static_cast<uint64_t>(node.after_size());
    if (size_.edges > kMaxGraphEdges) {
      return OverLimit("dependencies", kMaxGraphEdges);
    }
    for (const uint32_t id : node.after()) {
      if (earlier.Find(id).has_value()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("it is to come after node ", id,
                       ", which does not stand earlier in the definition"));
    }
    if (node.after_size() <= 1) return absl::OkStatus();
    sorted_.assign(node.after().begin(), node.after().end());
    std::sort(sorted_.begin(), sorted_.end());
    const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end());
    if (twice == sorted_.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("it is to come after node ", *twice, " twice"));
  }

  // A condition is worth a node: it costs as much.
  absl::Status Declare(const v1::GraphDefinition& definition) {
    if (conditions_.size() + definition.conditions_size() > kMaxGraphNodes) {
      return OverLimit("conditions", kMaxGraphNodes);
    }
    for (const v1::GraphCondition& condition : definition.conditions()) {
      if (conditions_.emplace(condition.id(), "").second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("condition ", condition.id(), " is declared twice"));
    }
    return absl::OkStatus();
  }

  // CUDA: a condition belongs to a single node.
  absl::Status Test(uint32_t condition) {
    auto found = conditions_.find(condition);
    if (found == conditions_.end() && part_) {
      found = outer_conditions_.emplace(condition, "").first;
    } else if (found == conditions_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("condition ", condition, " is not declared"));
    }
    if (found->second.empty()) {
      found->second = path_.ToString();
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("condition ", condition, " is tested by ", found->second,
                     " already: CUDA has one node for each"));
  }

  const bool part_;
  DefinitionSize& size_;
  NodePath& path_;
  // The conditions that are declared so far, and those of the definition
  // around. By id, the path of the node that tests it; empty: none yet.
  absl::flat_hash_map<uint32_t, std::string> conditions_;
  absl::flat_hash_map<uint32_t, std::string> outer_conditions_;
  std::vector<uint32_t> sorted_;
};

}  // namespace

absl::Status CheckDefinition(const v1::GraphDefinition& definition,
                             DefinitionSize* size, NodePath* where) {
  return Checker(/*part=*/false, size, where).Check(definition, Place::kGraph);
}

absl::Status CheckPart(const v1::GraphDefinition& definition, Place place,
                       NodePath* where) {
  DefinitionSize size;
  return Checker(/*part=*/true, &size, where).Check(definition, place);
}

}  // namespace holdfast
