// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/graph_instance.h"

#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/executor/graph/node_parameters.h"
#include "server/executor/resources.h"

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

// Compares bytes: those of an attribute that are not used are 0.
bool SameAttributes(const cuda::GraphNode& a, const cuda::GraphNode& b) {
  const auto left = a.attributes(), right = b.attributes();
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(),
                                      left.size() * sizeof left[0]) == 0);
}

// FAILED_PRECONDITION: CUDA does not change this in place.
absl::Status CheckChange(const cuda::GraphNode& from,
                         const cuda::GraphNode& to) {
  if (from.type() != to.type()) {
    return absl::FailedPreconditionError(
        "a copy or fill of 0 bytes and one of more are different nodes for "
        "CUDA: it cannot change one into the other");
  }
  if (SameAttributes(from, to)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "CUDA cannot change a node's cluster, cooperation or launch attributes "
      "in an instantiated graph");
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
  if (!exec.ok()) return graph->PathOf(failed).Prefix(exec.status());
  instance->exec_ = *std::move(exec);
  instance->current_ = graph;
  instance->source_ = std::move(graph);
  instance->SumUses();
  return instance;
}

void GraphInstance::Release(Resources& resources,
                            std::shared_ptr<GraphInstance> instance) {
  std::vector<Hold> holds;
  for (auto& [node, change] : instance->changes_) {
    holds.insert(holds.end(), change.uses.holds.begin(),
                 change.uses.holds.end());
  }
  auto source = std::move(instance->source_);
  auto current = std::move(instance->current_);
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
  for (const auto& [node, change] : changes_) {
    peers_.insert(peers_.end(), change.uses.peers.begin(),
                  change.uses.peers.end());
    kernels_.Add(change.uses);
    if (change.uses.recorded != nullptr) {
      recorded_.push_back(change.uses.recorded);
    }
    if (change.uses.awaited.has_value()) {
      awaited_[node->position] = *change.uses.awaited;
    }
  }
}

absl::Status GraphInstance::Upload(const cuda::Stream& stream) {
  return exec_->Upload(stream);
}

absl::Status GraphInstance::ReportWaits(Resources& resources,
                                        const cuda::Stream& stream,
                                        uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto passed,
                            resources.watcher().Mark(stream));
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
  if (!awaited_.empty()) {
    HOLDFAST_RETURN_IF_ERROR(resources.waits().CheckRoom());
  }
  HOLDFAST_RETURN_IF_ERROR(exec_->Launch(stream));
  if (!awaited_.empty()) {
    HOLDFAST_RETURN_IF_ERROR(ReportWaits(resources, stream, handle));
  }
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
  if (!status.ok()) return graph->PathOf(failed).Prefix(status);
  std::vector<Hold> released;
  for (auto& [node, change] : changes_) {
    std::move(change.uses.holds.begin(), change.uses.holds.end(),
              std::back_inserter(released));
    change = {.enabled = change.enabled};
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
  for (const uint32_t id : update.within()) {
    prepared->path.Enter(id);
    const BuiltNode* node = level->Find(id);
    if (node == nullptr || node->operation != v1::GraphNode::kChild) {
      return absl::NotFoundError(
          absl::StrCat("the graph has no child node ", id, " there"));
    }
    current = &current->nodes[level->index.at(id)].inner.front();
    level = &node->inner.front();
  }
  prepared->path.Enter(update.id());
  prepared->node = level->Find(update.id());
  if (prepared->node == nullptr) {
    return absl::NotFoundError("the graph has no such node");
  }
  prepared->current = &current->nodes[level->index.at(update.id())];
  return absl::OkStatus();
}

absl::StatusOr<GraphInstance::PreparedUpdate> GraphInstance::Prepare(
    Resources& resources, const v1::GraphNodeUpdate& update) {
  PreparedUpdate prepared;
  const auto prepare = [&]() -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(Locate(update, &prepared));
    const BuiltNode& node = *prepared.node;
    if (update.change_case() == v1::GraphNodeUpdate::kEnabled) {
      prepared.enabled = update.enabled();
      if (CanBeDisabled(node.operation)) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "only launches, copies and fills can be disabled");
    }
    if (!update.has_node()) {
      return absl::InvalidArgumentError("an update that changes nothing");
    }
    const v1::GraphNode& changed = update.node();
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
    HOLDFAST_ASSIGN_OR_RETURN(
        prepared.parameters,
        ToNode({resources, node.device, &prepared.uses, &source_->conditions()},
               changed, node.device_is_fixed));
    return CheckChange(prepared.current->parameters, *prepared.parameters);
  };
  const absl::Status status = prepare();
  if (!status.ok()) return prepared.path.Prefix(status);
  return prepared;
}

absl::Status GraphInstance::Apply(PreparedUpdate& update) {
  absl::Status status =
      update.parameters.has_value()
          ? exec_->SetNode(update.node->handle, *update.parameters)
          : exec_->SetEnabled(update.node->handle, update.enabled);
  if (absl::IsInvalidArgument(status)) {
    // Nothing is wrong with the parameters: a graph could have been made of
    // them.
    status = absl::Status(absl::StatusCode::kFailedPrecondition,
                          absl::StrCat("the driver does not change this in "
                                       "place: ",
                                       status.message()));
  }
  return update.path.Prefix(status);
}

void GraphInstance::Undo(PreparedUpdate& update) {
  const auto found = changes_.find(update.node);
  absl::Status status;
  if (!update.parameters.has_value()) {
    status = exec_->SetEnabled(
        update.node->handle, found == changes_.end() || found->second.enabled);
  } else if (found != changes_.end() && found->second.parameters.has_value()) {
    status = exec_->SetNode(update.node->handle, *found->second.parameters);
  } else {
    status = exec_->SetNode(update.node->handle, update.current->parameters);
  }
  if (!status.ok()) LogWarning("taking back an update: ", status.message());
}

void GraphInstance::Commit(PreparedUpdate update, std::vector<Hold>* released) {
  Change& change = changes_[update.node];
  if (!update.parameters.has_value()) {
    change.enabled = update.enabled;
    return;
  }
  std::move(change.uses.holds.begin(), change.uses.holds.end(),
            std::back_inserter(*released));
  change.parameters = std::move(update.parameters);
  change.uses = std::move(update.uses);
}

absl::Status GraphInstance::Update(Resources& resources,
                                   const v1::GraphNodeUpdates& updates) {
  std::vector<PreparedUpdate> prepared;
  prepared.reserve(static_cast<size_t>(updates.nodes_size()));
  for (const v1::GraphNodeUpdate& update : updates.nodes()) {
    HOLDFAST_ASSIGN_OR_RETURN(prepared.emplace_back(),
                              Prepare(resources, update));
  }
  for (size_t i = 0; i < prepared.size(); ++i) {
    const absl::Status status = Apply(prepared[i]);
    if (status.ok()) continue;
    while (i > 0) Undo(prepared[--i]);
    return status;
  }
  std::vector<Hold> released;
  for (PreparedUpdate& update : prepared) Commit(std::move(update), &released);
  SumUses();
  resources.Release(std::move(released));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
