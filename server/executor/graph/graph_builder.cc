// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/graph_builder.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "proto/definition_check.h"
#include "server/executor/graph/node_parameters.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

CUgraphConditionalNodeType ToType(v1::ConditionalNode::Kind kind) {
  switch (kind) {
    case v1::ConditionalNode::KIND_WHILE:
      return CU_GRAPH_COND_TYPE_WHILE;
    case v1::ConditionalNode::KIND_SWITCH:
      return CU_GRAPH_COND_TYPE_SWITCH;
    default:
      return CU_GRAPH_COND_TYPE_IF;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BuiltGraph>> GraphBuilder::Build(
    const v1::GraphDefinition& definition) {
  DefinitionSize size;
  NodePath where;
  const absl::Status checked = CheckDefinition(definition, &size, &where);
  if (!checked.ok()) return AtNode(where, checked);
  HOLDFAST_ASSIGN_OR_RETURN(
      built_->charge_, resources_.account().graph_nodes()->Take(size.nodes));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * first,
                            resources_.devices.OpenFirst());
  HOLDFAST_ASSIGN_OR_RETURN(built_->graph_,
                            cuda::Graph::Create(first->context));
  CollectConditions(definition, resources_.devices.first_ordinal());
  const Level level = {built_->graph_->handle(),
                       resources_.devices.first_ordinal(),
                       /*in_branch=*/false};
  const absl::Status added = AddNodes(definition, level, &built_->nodes_);
  if (!added.ok()) {
    built_.reset();  // which may hold the buffers
    allocations_.Abandon(added);
    return added;
  }
  built_->holds_.Close();
  built_->allocates_ = allocations_.any();
  built_->SumUses();
  return std::shared_ptr<const BuiltGraph>(std::move(built_));
}

void GraphBuilder::CollectConditions(const v1::GraphDefinition& definition,
                                     uint32_t device) {
  for (const v1::GraphCondition& condition : definition.conditions()) {
    if (!condition.has_default_value()) continue;
    conditions_[condition.id()].value = condition.default_value();
  }
  for (const v1::GraphNode& node : definition.nodes()) {
    const uint32_t own = node.has_device() ? node.device() : device;
    if (node.has_child()) CollectConditions(node.child(), device);
    if (!node.has_conditional()) continue;
    conditions_[node.conditional().condition()].device = own;
    for (const v1::GraphDefinition& branch : node.conditional().branches()) {
      CollectConditions(branch, own);
    }
  }
}

absl::Status GraphBuilder::CreateConditions(
    const v1::GraphDefinition& definition, CUgraph body) {
  if (conditions_.empty()) return absl::OkStatus();
  for (const v1::GraphNode& node : definition.nodes()) {
    if (!node.has_conditional()) continue;
    HOLDFAST_RETURN_IF_ERROR(
        CreateCondition(node.conditional().condition(), body));
  }
  for (const v1::GraphNode& node : definition.nodes()) {
    for (const v1::Argument& argument : node.launch().arguments()) {
      if (!argument.has_graph_condition()) continue;
      HOLDFAST_RETURN_IF_ERROR(
          CreateCondition(argument.graph_condition(), body));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphBuilder::CreateCondition(uint32_t id, CUgraph body) {
  const auto found = conditions_.find(id);
  if (found == conditions_.end() || built_->conditions_.contains(id)) {
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources_.devices.Open(found->second.device));
  HOLDFAST_ASSIGN_OR_RETURN(built_->conditions_[id],
                            built_->graph_->CreateCondition(
                                body, *device->context, found->second.value));
  return absl::OkStatus();
}

absl::Status GraphBuilder::AddNodes(const v1::GraphDefinition& definition,
                                    const Level& level, BuiltLevel* built) {
  const absl::Status made = CreateConditions(definition, level.body);
  if (!made.ok()) return AtNode(path_, made);
  const auto count = static_cast<size_t>(definition.nodes_size());
  built->nodes.reserve(count);
  for (const v1::GraphNode& node : definition.nodes()) {
    path_.Enter(node.id());
    BuiltNode& added = built->nodes.emplace_back();
    added.id = node.id();
    added.position = position_++;
    added.operation = node.operation_case();
    added.device = DeviceOf(node, level);
    added.device_is_fixed = level.in_branch || node.has_device();
    const absl::Status status = AddNode(node, level, *built, &added);
    if (!status.ok()) return AtNode(path_, status);
    HOLDFAST_RETURN_IF_ERROR(AddInner(node, level, &added));
    built->index.Append(node.id());
    path_.Leave();
  }
  return absl::OkStatus();
}

absl::Status GraphBuilder::AddNode(const v1::GraphNode& node,
                                   const Level& level,
                                   const BuiltLevel& earlier,
                                   BuiltNode* added) {
  HOLDFAST_RETURN_IF_ERROR(CheckDevice(node, level));
  HOLDFAST_ASSIGN_OR_RETURN(added->parameters, Describe(node, level, added));
  absl::InlinedVector<CUgraphNode, 8> after;
  for (const uint32_t id : node.after()) {
    const uint32_t position = *earlier.index.Find(id);
    added->after.push_back(position);
    after.push_back(earlier.nodes[position].handle);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      added->handle, built_->graph_->Add(level.body, after, added->parameters));
  return absl::OkStatus();
}

absl::StatusOr<cuda::GraphNode> GraphBuilder::Describe(
    const v1::GraphNode& node, const Level& level, BuiltNode* added) {
  if (node.has_allocation()) {
    HOLDFAST_RETURN_IF_ERROR(allocations_.Make(node.allocation()));
    HOLDFAST_RETURN_IF_ERROR(Keep(node.allocation().buffer(), added));
  } else if (node.has_free()) {
    HOLDFAST_RETURN_IF_ERROR(allocations_.Free(node.free()));
    HOLDFAST_RETURN_IF_ERROR(Keep(node.free().buffer(), added));
  }
  if (node.has_child()) return EmptyChild();
  if (node.has_conditional()) return Conditional(node, level);
  return ToNode(ScopeOf(added), node, added->device_is_fixed);
}

absl::Status GraphBuilder::Keep(uint64_t buffer, BuiltNode* added) {
  return KeepMemory(ScopeOf(added), buffer);
}

OperandScope GraphBuilder::ScopeOf(BuiltNode* added) {
  return {resources_, added->device, &added->uses, &built_->holds_,
          &built_->conditions_};
}

absl::StatusOr<cuda::GraphNode> GraphBuilder::EmptyChild() {
  if (empty_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(DeviceState * first,
                              resources_.devices.OpenFirst());
    HOLDFAST_ASSIGN_OR_RETURN(empty_, cuda::Graph::Create(first->context));
  }
  return cuda::GraphNode::Child(empty_->handle());
}

absl::StatusOr<cuda::GraphNode> GraphBuilder::Conditional(
    const v1::GraphNode& node, const Level& level) {
  const v1::ConditionalNode& conditional = node.conditional();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources_.devices.Open(DeviceOf(node, level)));
  return cuda::GraphNode::Conditional(
      *device->context, built_->conditions_.at(conditional.condition()),
      ToType(conditional.kind()),
      static_cast<unsigned>(conditional.branches_size()));
}

absl::Status GraphBuilder::AddInner(const v1::GraphNode& node,
                                    const Level& level, BuiltNode* added) {
  if (node.has_child()) {
    HOLDFAST_ASSIGN_OR_RETURN(const CUgraph body,
                              built_->graph_->ChildOf(added->handle));
    const Level inner = {body, level.device, level.in_branch};
    return AddNodes(node.child(), inner, &added->inner.emplace_back());
  }
  if (!node.has_conditional()) return absl::OkStatus();
  const auto bodies = cuda::Graph::BranchesOf(added->parameters);
  added->inner.resize(bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    path_.SetBranch(static_cast<uint32_t>(i));
    const Level inner = {bodies[i], DeviceOf(node, level),
                         /*in_branch=*/true};
    HOLDFAST_RETURN_IF_ERROR(
        AddNodes(node.conditional().branches(static_cast<int>(i)), inner,
                 &added->inner[i]));
  }
  return absl::OkStatus();
}

uint32_t GraphBuilder::DeviceOf(const v1::GraphNode& node, const Level& level) {
  return node.has_device() ? node.device() : level.device;
}

absl::Status GraphBuilder::CheckDevice(const v1::GraphNode& node,
                                       const Level& level) {
  if (!level.in_branch || DeviceOf(node, level) == level.device) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it is to run on device ", node.device(),
                   ", its conditional node on device ", level.device));
}

}  // namespace holdfast::executor
