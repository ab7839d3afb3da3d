// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph_exec.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/cpp/device.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/state/session_state.h"
#include "client/cuda/answer.h"
#include "client/cuda/graph/graph_update.h"
#include "client/cuda/graph/work.h"
#include "core/base/status_macros.h"
#include "core/cuda/graph_pairing.h"

namespace holdfast::libcuda {
namespace {

bool CanBeDisabled(const Node& node) {
  const CUgraphNodeType type = node.type();
  return type == CU_GRAPH_NODE_TYPE_KERNEL ||
         type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

void AddOrigins(const Graph& graph,
                std::unordered_map<CUgraphNode, Node*>* nodes) {
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    (*nodes)[node->origin] = node.get();
    for (const auto& inner : node->graphs()) AddOrigins(*inner, nodes);
  }
}

bool HasUnusedCondition(const Graph& graph) {
  for (const auto& condition : graph.conditions) {
    if (!condition->is_tested) return true;
  }
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    for (const auto& inner : node->graphs()) {
      if (HasUnusedCondition(*inner)) return true;
    }
  }
  return false;
}

// Inner graphs stay, with their nodes.
void TakeWork(const Node& from, Node* to) {
  if (auto* conditional = std::get_if<ConditionalWork>(&to->work)) {
    conditional->condition = std::get<ConditionalWork>(from.work).condition;
  } else if (to->graphs().empty()) {
    to->work = from.work;
  }
  for (size_t i = 0; i < to->graphs().size(); ++i) {
    to->graphs()[i]->conditions = from.graphs()[i]->conditions;
  }
}

// Waits until the daemon has made these changes, which are all made or none.
// Returns their own failure, other than Connection::AwaitCommands.
absl::Status UpdateAndWait(const holdfast::GraphExec& exec,
                           const NodeUpdates& updates) {
  HOLDFAST_RETURN_IF_ERROR(updates.status());
  return exec.session()->queue.CallWithoutResult([&](v1::Command& command) {
    v1::UpdateGraphExec& update = *command.mutable_update_graph_exec();
    update.set_graph_exec(exec.handle());
    update.mutable_nodes()->ParseFromString(std::string(updates.fields()));
  });
}

// Memory that is allocated and freed is temporary.
void Sort(LaunchAllocations* allocations) {
  LaunchAllocations::List& freed = allocations->freed;
  std::erase_if(allocations->kept, [&](const auto& made) {
    const auto found = std::find(freed.begin(), freed.end(), made);
    if (found == freed.end()) return false;
    allocations->temporary.push_back(made);
    freed.erase(found);
    return true;
  });
}

LaunchAllocations::List PinnedOf(const LaunchAllocations& allocations) {
  LaunchAllocations::List pinned;
  for (const auto* list :
       {&allocations.kept, &allocations.temporary, &allocations.freed}) {
    for (const auto& allocation : *list) {
      if (allocation->is_pinned()) pinned.push_back(allocation);
    }
  }
  return pinned;
}

}  // namespace

CUresult GraphExec::Create(Process& process, const Context& context,
                           std::shared_ptr<Graph> definition, cuuint64_t flags,
                           std::shared_ptr<GraphExec>* exec,
                           InstantiationError* error) {
  {
    // The copy shares its conditions with the program's graph.
    const DefinitionsLock lock(process.graphs);
    error->has_unused_condition = HasUnusedCondition(*definition);
  }
  if (error->has_unused_condition) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<GraphExec> made(
      new GraphExec(process, std::move(definition), flags));
  absl::MutexLock lock(&made->mutex_);
  made->device_ = context.device().ordinal();
  TakeObjects(*made->definition_, &made->objects_);
  made->CollectAllocations(*made->definition_);
  Sort(&made->allocations_);
  const Node* culprit = nullptr;
  const CUresult result = made->Make(&culprit);
  if (culprit != nullptr) error->node = culprit->origin;
  if (result == CUDA_SUCCESS) *exec = std::move(made);
  return result;
}

// The members go after the lock, and with them objects that no launch uses.
GraphExec::~GraphExec() {
  absl::MutexLock lock(&mutex_);
  // The daemon destroys its graphs before the stream waits for this process.
  stages_.clear();
  KeepForLaunches(objects_, PinnedOf(allocations_));
}

GraphExec::Objects GraphExec::Dropped(Objects before, const Objects& after) {
  for (auto& [graph, dropped] : before) {
    for (const auto& [other, kept] : after) dropped.RemoveObjectsOf(kept);
  }
  std::erase_if(before, [](const auto& entry) { return entry.second.empty(); });
  return before;
}

void GraphExec::KeepForLaunches(Objects objects,
                                LaunchAllocations::List memory) {
  if (!was_launched_ || (objects.empty() && memory.empty())) return;
  const std::shared_ptr<Stream> stream = last_stream_.lock();
  if (stream == nullptr ||
      !stream
           ->Call([objects = std::move(objects),
                   memory = std::move(memory)](const absl::Status&) {})
           .ok()) {
    Answer(process_.connection().session().Synchronize());
  }
}

void GraphExec::TakeObjects(Graph& graph, Objects* objects) {
  if (!graph.user_objects.empty()) {
    (*objects)[&graph] = std::exchange(graph.user_objects, {});
  }
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    for (const auto& inner : node->graphs()) TakeObjects(*inner, objects);
  }
}

void GraphExec::CollectAllocations(const Graph& graph) {
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    if (const auto* made = std::get_if<AllocationWork>(&node->work)) {
      allocations_.kept.push_back(made->allocation);
    } else if (const auto* freed = std::get_if<FreeWork>(&node->work)) {
      allocations_.freed.push_back(freed->allocation);
    }
    for (const auto& inner : node->graphs()) CollectAllocations(*inner);
  }
}

CUresult GraphExec::Make(const Node** culprit) {
  Program program;
  CUresult result =
      MakeProgram(process_.memory, *definition_, &program, culprit);
  if (result != CUDA_SUCCESS) return result;
  std::vector<RunStage> stages;
  result = MakeStages(std::move(program.stages), &stages);
  if (result != CUDA_SUCCESS) return result;
  HOLDFAST_ANSWER_IF_ERROR(SwitchNodesOff(program.places, stages));
  HOLDFAST_ANSWER_IF_ERROR(process_.connection().AwaitCommands());
  // The daemon orders the launches of one graph. Launches of the new one wait
  // for those of the old one here.
  if (was_launched_) {
    const std::shared_ptr<Stream> stream = last_stream_.lock();
    HOLDFAST_ANSWER_IF_ERROR(stream == nullptr
                                 ? process_.connection().session().Synchronize()
                                 : RecordEnd(*stream));
  }
  stages_ = std::move(stages);
  places_ = std::move(program.places);
  return CUDA_SUCCESS;
}

CUresult GraphExec::MakeStages(std::vector<Stage> stages,
                               std::vector<RunStage>* run_stages) {
  const GraphExecOptions options{
      .use_node_priority =
          (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0};
  bool has_steps = false;
  for (Stage& stage : stages) {
    RunStage& made = run_stages->emplace_back();
    has_steps |= !stage.steps.empty();
    made.steps = std::make_shared<const Steps>(std::move(stage.steps));
    if (stage.definition.size() == 0) continue;
    HOLDFAST_ANSWER_OR_ASSIGN(
        const holdfast::Graph graph,
        holdfast::Graph::Create(process_.connection().session(),
                                stage.definition));
    HOLDFAST_ANSWER_OR_ASSIGN(made.graph, graph.Instantiate(options));
  }
  if (has_steps && side_ == nullptr) {
    HOLDFAST_ANSWER_OR_ASSIGN(
        holdfast::Stream side,
        process_.connection().session().device(device_).CreateStream());
    side_ = std::make_shared<const holdfast::Stream>(std::move(side));
  }
  return CUDA_SUCCESS;
}

absl::Status GraphExec::SwitchNodesOff(const Places& places,
                                       const std::vector<RunStage>& stages) {
  std::map<size_t, NodeUpdates> updates;
  for (const auto& [node, place] : places) {
    if (node->enabled || place.is_fixed ||
        place.kind == LoweredWork::Kind::kAction ||
        place.kind == LoweredWork::Kind::kEmpty) {
      continue;
    }
    updates[place.stage].SetEnabled(place.id, false);
  }
  for (const auto& [stage, changes] : updates) {
    HOLDFAST_RETURN_IF_ERROR(stages[stage].graph->Update(changes));
  }
  return absl::OkStatus();
}

CUresult GraphExec::Launch(Stream& stream) {
  absl::MutexLock lock(&mutex_);
  if (!allocations_.empty()) {
    const CUresult result = GraphMemory::Get().Begin(
        allocations_,
        (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
    if (result != CUDA_SUCCESS) return result;
  }
  return Answer(RunOn(stream));
}

// An event is recorded by streams of its own device.
absl::Status GraphExec::RecordEnd(Stream& stream) {
  const uint32_t device = stream.queue().device();
  if (!end_.has_value() || end_device_ != device) {
    HOLDFAST_ASSIGN_OR_RETURN(
        end_, process_.connection().session().device(device).CreateEvent());
    end_device_ = device;
  }
  end_is_recorded_ = true;
  return stream.queue().Record(*end_);
}

absl::Status GraphExec::RunOn(Stream& stream) {
  if (std::exchange(end_is_recorded_, false)) {
    HOLDFAST_RETURN_IF_ERROR(stream.queue().Wait(*end_));
  }
  for (const RunStage& stage : stages_) {
    if (stage.graph.has_value()) {
      HOLDFAST_RETURN_IF_ERROR(stage.graph->Launch(stream.queue()));
    }
    if (stage.steps->empty()) continue;
    HOLDFAST_RETURN_IF_ERROR(stream.Call(
        [steps = stage.steps, side = side_](const absl::Status& outcome) {
          for (const Stage::Step& step : *steps) {
            if (outcome.ok() && step.enabled) step.action(*side);
          }
        }));
  }
  last_stream_ = stream.weak_from_this();
  was_launched_ = true;
  const bool has_actions = stages_.size() > 1 || !stages_[0].steps->empty();
  return has_actions ? RecordEnd(stream) : absl::OkStatus();
}

CUresult GraphExec::Upload(Stream& stream) {
  absl::MutexLock lock(&mutex_);
  for (const RunStage& stage : stages_) {
    if (!stage.graph.has_value()) continue;
    HOLDFAST_ANSWER_IF_ERROR(stage.graph->Upload(stream.queue()));
  }
  return CUDA_SUCCESS;
}

Node* GraphExec::Find(CUgraphNode origin) {
  if (by_origin_.empty()) AddOrigins(*definition_, &by_origin_);
  const auto found = by_origin_.find(origin);
  return found == by_origin_.end() ? nullptr : found->second;
}

bool GraphExec::AddUpdate(const Node& node, LoweredWork lowered,
                          StageUpdates* updates) {
  const Program::Place& place = places_[&node];
  if (place.is_fixed || place.kind != lowered.kind) return false;
  if (place.kind == LoweredWork::Kind::kAction) {
    updates->steps.push_back({&node, std::move(lowered.action), node.enabled});
  } else if (place.kind != LoweredWork::Kind::kEmpty) {
    updates->nodes[place.stage].Set(place.id, *std::move(lowered.params));
  }
  return true;
}

absl::Status GraphExec::Send(const StageUpdates& updates) {
  for (const auto& [stage, changes] : updates.nodes) {
    HOLDFAST_RETURN_IF_ERROR(stages_[stage].graph->Update(changes));
  }
  ReplaceSteps(updates);
  return absl::OkStatus();
}

// Launches so far keep the old steps.
void GraphExec::ReplaceSteps(const StageUpdates& updates) {
  std::map<size_t, std::unordered_map<const Node*, const Stage::Step*>> places;
  for (const Stage::Step& step : updates.steps) {
    places[places_[step.node].stage][step.node] = &step;
  }
  for (const auto& [stage, replaced] : places) {
    Steps steps = *stages_[stage].steps;
    for (Stage::Step& step : steps) {
      const auto found = replaced.find(step.node);
      if (found != replaced.end()) step = *found->second;
    }
    stages_[stage].steps = std::make_shared<const Steps>(std::move(steps));
  }
}

CUresult GraphExec::SetWork(CUgraphNode origin, NodeWork work) {
  absl::MutexLock lock(&mutex_);
  Node* node = Find(origin);
  if (node == nullptr || node->type() != TypeOf(work) ||
      !node->graphs().empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult kept = KeepAttributes(node->work, &work);
  if (kept != CUDA_SUCCESS) return kept;
  if (CheckChange(process_.memory, node->work, work) !=
      CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(
      LoweredWork lowered,
      Lower(process_.memory, work, *places_[node].conditions));
  StageUpdates updates;
  // The stages depend on the conditions that kernels name.
  const bool moves =
      stages_.size() > 1 && NamesCondition(work, *places_[node].conditions);
  std::swap(node->work, work);
  const CUresult result =
      !moves && AddUpdate(*node, std::move(lowered), &updates)
          ? Answer(Send(updates))
          : MakeAnew();
  if (result != CUDA_SUCCESS) std::swap(node->work, work);
  return result;
}

CUresult GraphExec::SetEnabled(CUgraphNode origin, bool enabled) {
  absl::MutexLock lock(&mutex_);
  Node* node = Find(origin);
  if (node == nullptr || !CanBeDisabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  if (std::exchange(node->enabled, enabled) == enabled) return CUDA_SUCCESS;
  const Program::Place& place = places_[node];
  if (place.is_fixed) {
    const CUresult result = MakeAnew();
    if (result != CUDA_SUCCESS) node->enabled = !enabled;
    return result;
  }
  if (place.kind == LoweredWork::Kind::kAction) {
    const Steps& steps = *stages_[place.stage].steps;
    Stage::Step step = *std::find_if(
        steps.begin(), steps.end(),
        [node](const Stage::Step& found) { return found.node == node; });
    step.enabled = enabled;
    ReplaceSteps({.nodes = {}, .steps = {step}});
    return CUDA_SUCCESS;
  }
  // A copy of no bytes.
  if (place.kind == LoweredWork::Kind::kEmpty) return CUDA_SUCCESS;
  StageUpdates updates;
  updates.nodes[place.stage].SetEnabled(place.id, enabled);
  const CUresult result = Answer(Send(updates));
  if (result != CUDA_SUCCESS) node->enabled = !enabled;
  return result;
}

CUresult GraphExec::GetEnabled(CUgraphNode origin, bool* enabled) {
  absl::MutexLock lock(&mutex_);
  const Node* node = Find(origin);
  if (node == nullptr || !CanBeDisabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  *enabled = node->enabled;
  return CUDA_SUCCESS;
}

CUresult GraphExec::SetChild(CUgraphNode origin, const Graph& graph) {
  Objects retired;
  absl::MutexLock lock(&mutex_);
  const Node* node = Find(origin);
  if (node == nullptr || node->type() != CU_GRAPH_NODE_TYPE_GRAPH) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUgraphExecUpdateResultInfo info{};
  return UpdateFrom(*node->graphs()[0], graph, &info, &retired);
}

CUresult GraphExec::Update(const Graph& graph,
                           CUgraphExecUpdateResultInfo* info) {
  Objects retired;
  absl::MutexLock lock(&mutex_);
  return UpdateFrom(*definition_, graph, info, &retired);
}

CUresult GraphExec::UpdateFrom(const Graph& before, const Graph& after,
                               CUgraphExecUpdateResultInfo* info,
                               Objects* retired) {
  LoweredNodes lowered;
  AllWorkBefore replaced;
  bool anew = false;
  const auto conditions = definition_->conditions;
  *retired = objects_;
  Objects objects = objects_;
  CUresult result =
      TakeAllWork(before, after, info, &lowered, &anew, &replaced, &objects);
  if (result != CUDA_SUCCESS) return result;
  std::erase_if(objects, [](const auto& kept) { return kept.second.empty(); });
  result = anew ? MakeAnew() : SendAll(std::move(lowered));
  if (result == CUDA_SUCCESS) {
    KeepForLaunches(Dropped(*retired, objects), {});
    objects_ = std::move(objects);
  } else {
    *retired = std::move(objects);
    definition_->conditions = conditions;
    PutBack(std::move(replaced));
  }
  *info = {result == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                  : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
           nullptr, nullptr};
  return result == CUDA_SUCCESS || LastFault() != CUDA_SUCCESS
             ? result
             : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult GraphExec::TakeAllWork(const Graph& before, const Graph& after,
                                CUgraphExecUpdateResultInfo* info,
                                LoweredNodes* lowered, bool* anew,
                                AllWorkBefore* replaced, Objects* objects) {
  const DefinitionsLock lock(process_.graphs);
  const auto check = [this](const NodeWork& had, const NodeWork& has) {
    return CheckChange(process_.memory, had, has);
  };
  std::vector<cuda::NodePair<Node>> pairs;
  if (!cuda::PairNodes(before, after, check, &pairs, info)) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  // Kernels of the other graph set conditions of that graph.
  *anew = definition_->has_conditional_nodes();
  for (const auto& [node, update] : pairs) {
    if (*anew || !node->graphs().empty()) continue;
    const Program::Place& place = places_[node];
    auto work = Lower(process_.memory, update->work, *place.conditions);
    if (!work.ok()) {
      *info = {CU_GRAPH_EXEC_UPDATE_ERROR, update->handle, nullptr};
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    *anew = work->kind != place.kind;
    lowered->emplace_back(node, *std::move(work));
  }
  for (const auto& [node, update] : pairs) {
    WorkBefore& had = replaced->emplace_back();
    had.node = node;
    had.work = node->work;
    for (size_t i = 0; i < node->graphs().size(); ++i) {
      Graph& inner = *node->graphs()[i];
      had.conditions.push_back(inner.conditions);
      (*objects)[&inner] = update->graphs()[i]->user_objects;
    }
    TakeWork(*update, node);
  }
  (*objects)[&before] = after.user_objects;
  if (&before == definition_.get()) definition_->conditions = after.conditions;
  return CUDA_SUCCESS;
}

void GraphExec::PutBack(AllWorkBefore replaced) {
  for (WorkBefore& had : replaced) {
    had.node->work = std::move(had.work);
    for (size_t i = 0; i < had.conditions.size(); ++i) {
      had.node->graphs()[i]->conditions = std::move(had.conditions[i]);
    }
  }
}

CUresult GraphExec::SendAll(LoweredNodes lowered) {
  StageUpdates updates;
  for (auto& [node, work] : lowered) {
    AddUpdate(*node, std::move(work), &updates);
  }
  // One stage might refuse its part after another has taken its own.
  if (updates.nodes.size() > 1) return MakeAnew();
  for (const auto& [stage, changes] : updates.nodes) {
    HOLDFAST_ANSWER_IF_ERROR(UpdateAndWait(*stages_[stage].graph, changes));
  }
  ReplaceSteps(updates);
  return CUDA_SUCCESS;
}

CUresult GraphExec::MakeAnew() {
  const Node* culprit = nullptr;
  return Make(&culprit);
}

}  // namespace holdfast::libcuda
