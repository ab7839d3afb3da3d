// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/exec.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "core/software/base/mutex.h"
#include "core/software/driver/graph/parameters.h"
#include "core/software/driver/graph/run.h"
#include "core/software/driver/graph/update.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/watchdog.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

// One launch from the call to its end. Events that it records are reached in
// any case, since others wait for them.
class GraphLaunch {
 public:
  // `definition` keeps the allocations.
  GraphLaunch(std::shared_ptr<Program> program,
              std::shared_ptr<const Graph> definition)
      : program_(std::move(program)), definition_(std::move(definition)) {
    ++program_->launches;
    events_.slots.resize(program_->slots());
    for (const Program::Entry& entry : program_->entries()) {
      if (entry.step == nullptr || entry.step->event() == nullptr) continue;
      LaunchEvents::Slot& slot = events_.slots[entry.slot];
      slot.records = entry.step->records();
      if (slot.records) {
        slot.recording = entry.step->event()->BeginRecording();
      } else {
        slot.point = entry.step->event()->LastPoint();
      }
    }
  }
  ~GraphLaunch() { --program_->launches; }
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;

  void Run(const std::vector<std::shared_ptr<GraphCondition>>& conditions) {
    for (const auto& condition : conditions) condition->Reset();
    software::Run(*program_, events_);
    for (LaunchEvents::Slot& slot : events_.slots) {
      if (slot.records && !slot.reached) slot.recording.Reach();
    }
  }

 private:
  const std::shared_ptr<Program> program_;
  const std::shared_ptr<const Graph> definition_;
  LaunchEvents events_;
};

bool CanBeDisabled(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_KERNEL ||
         type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

// Makes a node of the definition do what `update` does. Inner graphs stay, with
// what is in them.
void UpdateNode(GraphNode* node, const GraphNode& update) {
  if (auto* to = std::get_if<ConditionalWork>(&node->work)) {
    to->condition = std::get<ConditionalWork>(update.work).condition;
  } else if (node->graphs().empty()) {
    node->work = update.work;
  }
}

void AddOrigins(const Graph& graph,
                std::unordered_map<CUgraphNode, GraphNode*>* nodes) {
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    (*nodes)[node->origin] = node.get();
    for (const auto& inner : node->graphs()) AddOrigins(*inner, nodes);
  }
}

}  // namespace

GraphExec::GraphExec(std::shared_ptr<Graph> definition, const MemoryMap& memory,
                     cuuint64_t flags)
    : memory_(memory), flags_(flags), definition_(std::move(definition)) {}

void GraphExec::CollectLocked(const Graph& graph) {
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    if (const auto* node_of = std::get_if<ConditionalWork>(&node->work)) {
      conditions_.push_back(node_of->condition);
    } else if (const auto* made = std::get_if<AllocationWork>(&node->work)) {
      allocations_.kept.push_back(made->allocation);
    } else if (const auto* freed = std::get_if<FreeWork>(&node->work)) {
      allocations_.freed.push_back(freed->allocation);
    }
    for (const auto& inner : node->graphs()) CollectLocked(*inner);
  }
}

namespace {

bool HasUnusedCondition(const Graph& graph) {
  const auto unused = [](const std::shared_ptr<GraphCondition>& condition) {
    return !condition->taken;
  };
  if (std::any_of(graph.conditions.begin(), graph.conditions.end(), unused)) {
    return true;
  }
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    for (const auto& inner : node->graphs()) {
      if (HasUnusedCondition(*inner)) return true;
    }
  }
  return false;
}

// Moves what is both allocated and freed to the temporary ones.
void Sort(GraphAllocations* allocations) {
  GraphAllocations::List kept;
  for (auto& allocation : allocations->kept) {
    const auto freed = std::find(allocations->freed.begin(),
                                 allocations->freed.end(), allocation);
    if (freed == allocations->freed.end()) {
      kept.push_back(std::move(allocation));
    } else {
      allocations->freed.erase(freed);
      allocations->temporary.push_back(std::move(allocation));
    }
  }
  allocations->kept = std::move(kept);
}

}  // namespace

std::shared_ptr<GraphExec> GraphExec::Create(std::shared_ptr<Graph> definition,
                                             const MemoryMap& memory,
                                             cuuint64_t flags,
                                             InstantiationError* error) {
  std::shared_ptr<GraphExec> exec(
      new GraphExec(std::move(definition), memory, flags));
  MutexLock lock(&exec->mutex_);
  auto objects = std::make_shared<Objects>();
  TakeObjects(*exec->definition_, objects.get());
  exec->objects_ = std::move(objects);
  exec->CollectLocked(*exec->definition_);
  Sort(&exec->allocations_);
  if (HasUnusedCondition(*exec->definition_)) {
    error->result = CUDA_ERROR_INVALID_VALUE;
    error->unused_condition = true;
    return nullptr;
  }
  const GraphNode* culprit = nullptr;
  exec->program_ = Program::Build(*exec->definition_, memory, &exec->index_,
                                  &error->result, &culprit);
  error->node = culprit == nullptr ? nullptr : culprit->origin;
  return exec->program_ == nullptr ? nullptr : exec;
}

CUresult GraphExec::Launch(Stream& stream) {
  if (!StartWatchdog(
          std::chrono::seconds(GetSettings().launch_timeout_seconds)) ||
      !stream.StartWorker()) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  MutexLock lock(&mutex_);
  if (!allocations_.empty()) {
    const CUresult result = GraphMemory::Get().Begin(
        allocations_,
        (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
    if (result != CUDA_SUCCESS) return result;
  }
  auto launch = std::make_shared<GraphLaunch>(program_, definition_);
  const auto run = [launch, conditions = conditions_, objects = objects_] {
    launch->Run(conditions);
  };
  const Stream::Operation operation{.run = run,
                                    .after = {last_launch_},
                                    .even_after_fault = program_->slots() > 0};
  auto launched = stream.Enqueue(operation, Stream::Runner::kWorker);
  // The worker has ended again, after a second. The launch has begun, so it
  // stays, for the next thread that works for the stream (Stream::RunLeft).
  if (!launched) launched = stream.Enqueue(operation, Stream::Runner::kWaiter);
  last_launch_ = *launched;
  if (!allocations_.empty()) {
    GraphMemory::Get().Use(allocations_, last_launch_);
  }
  return CUDA_SUCCESS;
}

void GraphExec::TakeObjects(Graph& graph, Objects* objects) {
  if (!graph.user_objects.empty()) {
    (*objects)[&graph] = std::exchange(graph.user_objects, {});
  }
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    for (const auto& inner : node->graphs()) TakeObjects(*inner, objects);
  }
}

GraphNode* GraphExec::FindLocked(CUgraphNode origin) {
  if (by_origin_.empty()) AddOrigins(*definition_, &by_origin_);
  const auto found = by_origin_.find(origin);
  return found == by_origin_.end() ? nullptr : found->second;
}

CUresult GraphExec::MakeWritableLocked() {
  if (program_->launches == 0) return CUDA_SUCCESS;
  if (!definition_->has_conditional_nodes()) {
    program_ = program_->Copy();
    return CUDA_SUCCESS;
  }
  return RebuildLocked();  // bodies are programs within steps
}

CUresult GraphExec::RebuildLocked() {
  CUresult error = CUDA_SUCCESS;
  const GraphNode* culprit = nullptr;
  Program::Index index;
  std::shared_ptr<Program> program =
      Program::Build(*definition_, memory_, &index, &error, &culprit);
  if (program == nullptr) return error;
  program_ = std::move(program);
  index_ = std::move(index);
  conditions_.clear();
  allocations_ = {};
  CollectLocked(*definition_);
  Sort(&allocations_);
  return CUDA_SUCCESS;
}

Program::Entry& GraphExec::EntryLocked(const GraphNode* node) {
  const Program::Place place = index_[node];
  Program& program = place.body == nullptr ? *program_ : *place.body;
  return program.entry(place.entry);
}

CUresult GraphExec::SetWork(CUgraphNode origin, NodeWork work) {
  MutexLock lock(&mutex_);
  GraphNode* node = FindLocked(origin);
  if (node == nullptr || node->type() != TypeOf(work)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = KeepAttributes(node->work, &work);
  if (result != CUDA_SUCCESS) return result;
  if (CheckChange(memory_, node->work, work) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<const Step> step;
  result = MakeStep(work, memory_, &step);
  if (result == CUDA_SUCCESS) result = MakeWritableLocked();
  if (result != CUDA_SUCCESS) return result;
  node->work = std::move(work);
  EntryLocked(node).step = std::move(step);
  return CUDA_SUCCESS;
}

CUresult GraphExec::SetEnabled(CUgraphNode origin, bool enabled) {
  MutexLock lock(&mutex_);
  GraphNode* node = FindLocked(origin);
  if (node == nullptr || !CanBeDisabled(node->type())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = MakeWritableLocked();
  if (result != CUDA_SUCCESS) return result;
  node->enabled = enabled;
  EntryLocked(node).enabled = enabled;
  return CUDA_SUCCESS;
}

CUresult GraphExec::GetEnabled(CUgraphNode origin, bool* enabled) {
  MutexLock lock(&mutex_);
  const GraphNode* node = FindLocked(origin);
  if (node == nullptr || !CanBeDisabled(node->type())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *enabled = node->enabled;
  return CUDA_SUCCESS;
}

CUresult GraphExec::SetChild(CUgraphNode origin, const Graph& graph) {
  MutexLock lock(&mutex_);
  const GraphNode* node = FindLocked(origin);
  if (node == nullptr || node->type() != CU_GRAPH_NODE_TYPE_GRAPH) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUgraphExecUpdateResultInfo info{};
  return UpdateLocked(*node->graphs().front(), graph, &info);
}

CUresult GraphExec::Update(const Graph& graph,
                           CUgraphExecUpdateResultInfo* info) {
  MutexLock lock(&mutex_);
  return UpdateLocked(*definition_, graph, info);
}

CUresult GraphExec::UpdateLocked(const Graph& before, const Graph& after,
                                 CUgraphExecUpdateResultInfo* info) {
  std::vector<NodePair> pairs;
  const auto check = [this](const NodeWork& had, const NodeWork& has) {
    return CheckChange(memory_, had, has);
  };
  if (!cuda::PairNodes(before, after, check, &pairs, info)) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  std::vector<std::shared_ptr<const Step>> steps(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const GraphNode& update = *pairs[i].second;
    const CUresult result = MakeStep(update.work, memory_, &steps[i]);
    if (result == CUDA_SUCCESS) continue;
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR, update.handle, nullptr};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  auto objects = std::make_shared<Objects>(*objects_);
  (*objects)[&before] = after.user_objects;
  for (const auto& [node, update] : pairs) {
    for (size_t k = 0; k < node->graphs().size(); ++k) {
      (*objects)[node->graphs()[k].get()] = update->graphs()[k]->user_objects;
    }
  }
  // Kernels of the other graph set conditions of that graph.
  const CUresult result = definition_->has_conditional_nodes()
                              ? RebuildWithLocked(pairs)
                              : ReplaceLocked(pairs, std::move(steps));
  if (result != CUDA_SUCCESS) {
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  objects_ = std::move(objects);
  *info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult GraphExec::ReplaceLocked(
    const std::vector<NodePair>& pairs,
    std::vector<std::shared_ptr<const Step>> steps) {
  const CUresult result = MakeWritableLocked();
  if (result != CUDA_SUCCESS) return result;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [node, update] = pairs[i];
    EntryLocked(node).step = std::move(steps[i]);
    UpdateNode(node, *update);
  }
  return CUDA_SUCCESS;
}

CUresult GraphExec::RebuildWithLocked(const std::vector<NodePair>& pairs) {
  std::vector<NodeWork> before;
  for (const auto& [node, update] : pairs) {
    before.push_back(node->work);
    UpdateNode(node, *update);
  }
  const CUresult result = RebuildLocked();
  for (size_t i = 0; result != CUDA_SUCCESS && i < pairs.size(); ++i) {
    pairs[i].first->work = std::move(before[i]);
  }
  return result;
}

}  // namespace holdfast::software
