// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/graph_instance.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/executor/graph/node_parameters.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

uint64_t FlagsOf(const v1::InstantiateGraph& options) {
  uint64_t flags = 0;
  if (options.auto_free_on_launch()) {
    flags |= CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  }
  if (options.use_node_priority()) {
    flags |= CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  }
  return flags;
}

// CUDA disables these alone.
bool CanBeDisabled(v1::GraphNode::OperationCase operation) {
  switch (operation) {
    case v1::GraphNode::kLaunch:
    case v1::GraphNode::kCopy:
    case v1::GraphNode::kCopyRect:
    case v1::GraphNode::kFill:
    case v1::GraphNode::kFillRect:
      return true;
    default:
      return false;
  }
}

// FAILED_PRECONDITION: CUDA does not change this in place.
absl::Status CheckChange(const cuda::GraphNode& from,
                         const cuda::GraphNode& to) {
  if (from.type() != to.type()) {
    return absl::FailedPreconditionError(
        "a copy or fill of 0 bytes and one of more are different nodes for "
        "CUDA: it cannot change one into the other");
  }
  if (from.SameAttributes(to)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "CUDA cannot change a node's cluster, cooperation or launch attributes "
      "in an instantiated graph");
}

NodePath PathTo(const v1::GraphNodeUpdate& update) {
  NodePath path;
  for (const uint32_t id : update.within()) path.Enter(id);
  path.Enter(update.id());
  return path;
}

// Do launches depend on more of it than its parameters?
bool NeedsSum(const NodeUses& uses) {
  return !uses.peers.empty() || uses.recorded != nullptr ||
         uses.awaited.has_value();
}

}  // namespace

absl::StatusOr<std::shared_ptr<GraphInstance>> GraphInstance::Create(
    Resources& resources, std::shared_ptr<const BuiltGraph> graph,
    const v1::InstantiateGraph& options) {
  std::shared_ptr<GraphInstance> instance(new GraphInstance);
  HOLDFAST_ASSIGN_OR_RETURN(
      instance->charge_,
      resources.account().graph_nodes()->Take(graph->node_count()));
  CUgraphNode failed = nullptr;
  auto exec =
      cuda::GraphExec::Create(graph->graph(), FlagsOf(options), &failed);
  if (!exec.ok()) return AtNode(graph->PathOf(failed), exec.status());
  instance->exec_ = *std::move(exec);
  instance->current_ = graph;
  instance->source_ = std::move(graph);
  instance->SumUses();
  return instance;
}

void GraphInstance::Release(Resources& resources,
                            std::shared_ptr<GraphInstance> instance) {
  std::vector<Hold> holds;
  for (const auto& change : instance->changes_) {
    if (change != nullptr) Release(std::move(change->holds), &holds);
  }
  auto source = std::move(instance->source_);
  auto current = std::move(instance->current_);
  // The driver's destruction may wait for present work (a graph with branches,
  // on an H200). This work may wait for a command that this thread has yet to
  // process, such as a semaphore's signal.
  resources.Retire(resources.devices.first_ordinal(),
                   std::shared_ptr<const void>(std::move(instance->exec_)));
  instance.reset();
  resources.Release(std::move(holds));
  BuiltGraph::Release(resources, std::move(current));
  BuiltGraph::Release(resources, std::move(source));
}

void GraphInstance::SumUses() {
  recorded_ = current_->recorded();
  peers_ = current_->peers();
  kernels_ = current_->kernels();
  awaited_.clear();
  for (const BuiltNode* node : current_->waiting()) {
    awaited_[node->position] = *node->uses.awaited;
  }
  for (uint32_t position = 0; position < changes_.size(); ++position) {
    if (changes_[position] == nullptr) continue;
    const NodeUses& uses = changes_[position]->uses;
    peers_.insert(peers_.end(), uses.peers.begin(), uses.peers.end());
    kernels_.Add(uses);
    if (uses.recorded != nullptr) recorded_.push_back(uses.recorded);
    if (uses.awaited.has_value()) {
      awaited_[position] = *uses.awaited;
    } else {
      awaited_.erase(position);
    }
  }
}

absl::Status GraphInstance::Upload(const cuda::Stream& stream) {
  return exec_->Upload(stream);
}

absl::Status GraphInstance::LaunchWithWaits(Resources& resources,
                                            const cuda::Stream& stream,
                                            uint64_t handle) {
  HOLDFAST_RETURN_IF_ERROR(resources.waits().CheckRoom());
  HOLDFAST_ASSIGN_OR_RETURN(const auto passed,
                            resources.watcher().RecordAfter(
                                stream, [&] { return exec_->Launch(stream); }));
  int reported = 0;
  for (const auto& [position, awaited] : awaited_) {
    if (++reported > SemaphoreWaits::kMaxReported) break;
    resources.waits().Add(awaited.semaphore, handle, awaited.value, passed);
  }
  return absl::OkStatus();
}

absl::Status GraphInstance::Launch(Resources& resources,
                                   const cuda::Stream& stream,
                                   uint64_t handle) {
  for (const auto& [device, owner] : peers_) {
    if (resources.peers.Allows(device, owner)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "a node of the graph runs on device ", device,
        " and uses memory of device ", owner,
        ", to which it has no access any more (DisablePeerAccess)"));
  }
  HOLDFAST_RETURN_IF_ERROR(awaited_.empty()
                               ? exec_->Launch(stream)
                               : LaunchWithWaits(resources, stream, handle));
  for (const auto& event : recorded_) event->SetRecorded();
  for (size_t path = 0; path < current_->copies().size(); ++path) {
    const CopySum& sum = current_->copies()[path];
    if (sum.copies == 0) continue;
    resources.copies().Add(static_cast<v1::CopyPath>(path), sum.bytes,
                           sum.copies);
  }
  return absl::OkStatus();
}

absl::Status GraphInstance::Update(Resources& resources,
                                   std::shared_ptr<const BuiltGraph> graph) {
  HOLDFAST_RETURN_IF_ERROR(graph->CheckSameShape(*source_));
  CUgraphNode failed = nullptr;
  const absl::Status status = exec_->Update(*graph->graph(), &failed);
  if (!status.ok()) return AtNode(graph->PathOf(failed), status);
  std::vector<Hold> released;
  for (const auto& change : changes_) {
    if (change == nullptr) continue;
    Release(std::move(change->holds), &released);
    const bool enabled = change->enabled;
    *change = Change();
    change->enabled = enabled;
  }
  auto before = std::exchange(current_, std::move(graph));
  SumUses();
  resources.Release(std::move(released));
  BuiltGraph::Release(resources, std::move(before));
  return absl::OkStatus();
}

absl::Status GraphInstance::Locate(const v1::GraphNodeUpdate& update,
                                   PreparedUpdate* prepared) const {
  const BuiltLevel* level = &source_->nodes();
  const BuiltLevel* current = &current_->nodes();
  NodePath path;
  for (const uint32_t id : update.within()) {
    path.Enter(id);
    const auto position = level->index.Find(id);
    if (!position.has_value() ||
        level->nodes[*position].operation != v1::GraphNode::kChild) {
      return AtNode(path, absl::NotFoundError(absl::StrCat(
                              "the graph has no child node ", id, " there")));
    }
    current = &current->nodes[*position].inner.front();
    level = &level->nodes[*position].inner.front();
  }
  const auto position = level->index.Find(update.id());
  if (!position.has_value()) {
    path.Enter(update.id());
    return AtNode(path, absl::NotFoundError("the graph has no such node"));
  }
  prepared->node = &level->nodes[*position];
  prepared->current = &current->nodes[*position];
  return absl::OkStatus();
}

GraphInstance::Change& GraphInstance::ChangeOf(const BuiltNode& node) {
  if (changes_.empty()) changes_.resize(source_->node_count());
  auto& change = changes_[node.position];
  if (change == nullptr) change = std::make_unique<Change>();
  return *change;
}

const cuda::GraphNode& GraphInstance::ParametersOf(
    const PreparedUpdate& update) const {
  const Change* const change = FindChange(*update.node);
  return change != nullptr && change->parameters.has_value()
             ? *change->parameters
             : update.current->parameters;
}

absl::Status GraphInstance::PrepareParameters(Resources& resources,
                                              const v1::GraphNode& changed,
                                              HoldSet* holds,
                                              PreparedUpdate* prepared) const {
  const BuiltNode& node = *prepared->node;
  if (changed.operation_case() != node.operation || !node.inner.empty()) {
    return absl::InvalidArgumentError(
        "an update has an operation of the same kind as the node, which is "
        "no child graph and no conditional node");
  }
  if (changed.has_device() && changed.device() != node.device) {
    return absl::InvalidArgumentError(
        absl::StrCat("the node is on device ", node.device,
                     " and cannot move to device ", changed.device()));
  }
  HOLDFAST_ASSIGN_OR_RETURN(prepared->parameters,
                            ToNode({resources, node.device, &prepared->uses,
                                    holds, &source_->conditions()},
                                   changed, node.device_is_fixed));
  prepared->is_change =
      !ParametersOf(*prepared).IsSameAs(*prepared->parameters);
  return CheckChange(prepared->current->parameters, *prepared->parameters);
}

absl::Status GraphInstance::Prepare(Resources& resources,
                                    const v1::GraphNodeUpdate& update,
                                    HoldSet* holds,
                                    PreparedUpdate* prepared) const {
  switch (update.change_case()) {
    case v1::GraphNodeUpdate::kNode:
      return PrepareParameters(resources, update.node(), holds, prepared);
    case v1::GraphNodeUpdate::kEnabled:
      prepared->enabled = update.enabled();
      if (CanBeDisabled(prepared->node->operation)) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "only launches, copies and fills can be disabled");
    case v1::GraphNodeUpdate::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an update that changes nothing");
}

absl::Status GraphInstance::PrepareAll(
    Resources& resources, const v1::GraphNodeUpdates& updates, HoldSet* holds,
    std::vector<PreparedUpdate>* prepared) const {
  prepared->reserve(static_cast<size_t>(updates.nodes_size()));
  const BuiltNode* last = nullptr;
  bool each_once = true;
  for (const v1::GraphNodeUpdate& update : updates.nodes()) {
    PreparedUpdate& next = prepared->emplace_back();
    HOLDFAST_RETURN_IF_ERROR(Locate(update, &next));
    const absl::Status status = Prepare(resources, update, holds, &next);
    if (!status.ok()) return AtNode(PathTo(update), status);
    each_once &= last == nullptr || std::less<>()(last, next.node);
    last = next.node;
  }
  holds->Close();
  if (each_once) return absl::OkStatus();
  // A node may come twice: which of its parameters are new is not known.
  for (PreparedUpdate& update : *prepared) update.is_change = true;
  return absl::OkStatus();
}

absl::Status GraphInstance::Apply(const PreparedUpdate& update) {
  if (!update.is_change) return absl::OkStatus();
  const absl::Status status =
      update.parameters.has_value()
          ? exec_->SetNode(update.node->handle, *update.parameters)
          : exec_->SetEnabled(update.node->handle, update.enabled);
  if (!absl::IsInvalidArgument(status)) return status;
  // Nothing is wrong with the parameters: a graph could have been made of
  // them.
  return absl::Status(absl::StatusCode::kFailedPrecondition,
                      absl::StrCat("the driver does not change this in place: ",
                                   status.message()));
}

void GraphInstance::Undo(const PreparedUpdate& update) {
  if (!update.is_change) return;
  absl::Status status;
  if (update.parameters.has_value()) {
    status = exec_->SetNode(update.node->handle, ParametersOf(update));
  } else {
    const Change* const change = FindChange(*update.node);
    status = exec_->SetEnabled(update.node->handle,
                               change == nullptr || change->enabled);
  }
  if (!status.ok()) LogWarning("taking back an update: ", status.message());
}

void GraphInstance::Release(SharedHolds holds, std::vector<Hold>* released) {
  if (holds == nullptr || holds.use_count() > 1) return;
  released->insert(released->end(), holds->holds().begin(),
                   holds->holds().end());
}

bool GraphInstance::Commit(PreparedUpdate&& update, const SharedHolds& holds,
                           std::vector<Hold>* released) {
  Change& change = ChangeOf(*update.node);
  if (!update.parameters.has_value()) {
    change.enabled = update.enabled;
    return false;
  }
  const bool needs_sum = NeedsSum(change.uses) || NeedsSum(update.uses) ||
                         NeedsSum(update.current->uses);
  Release(std::exchange(change.holds, holds), released);
  kernels_.Add(update.uses);
  // Otherwise the node has them already, whether from here or from current_.
  if (update.is_change) change.parameters = std::move(update.parameters);
  change.uses = std::move(update.uses);
  return needs_sum;
}

absl::Status GraphInstance::Update(Resources& resources,
                                   const v1::GraphNodeUpdates& updates) {
  const auto holds = std::make_shared<HoldSet>();
  std::vector<PreparedUpdate> prepared;
  HOLDFAST_RETURN_IF_ERROR(
      PrepareAll(resources, updates, holds.get(), &prepared));
  for (size_t i = 0; i < prepared.size(); ++i) {
    const absl::Status status = Apply(prepared[i]);
    if (status.ok()) continue;
    const NodePath path = PathTo(updates.nodes(static_cast<int>(i)));
    while (i > 0) Undo(prepared[--i]);
    return AtNode(path, status);
  }
  std::vector<Hold> released;
  bool needs_sum = false;
  for (PreparedUpdate& update : prepared) {
    needs_sum |= Commit(std::move(update), holds, &released);
  }
  if (needs_sum) SumUses();
  if (released.empty()) return absl::OkStatus();
  // An update mostly names what the one before it has named. To release it is
  // dear: events on all streams tell when.
  holds->RemoveKept(&released);
  if (!released.empty()) resources.Release(std::move(released));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
