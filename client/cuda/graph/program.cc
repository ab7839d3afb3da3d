// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "client/cpp/graph/nested_nodes.h"
#include "client/cuda/answer.h"

namespace holdfast::libcuda {
namespace {

using Conditions = std::shared_ptr<const ConditionMap>;

// A node of the flat graph, which has no child graphs. A child node is behind
// all nodes of its graph, and joins them.
struct Item {
  const Node* node = nullptr;
  std::vector<size_t> after;  // items
};

// The conditions of a graph and of its inner graphs, by their handles.
using DeclaredConditions =
    std::map<CUgraphConditionalHandle, std::shared_ptr<Condition>>;

void Collect(const Graph& graph, DeclaredConditions* declared) {
  for (const auto& condition : graph.conditions) {
    declared->emplace(condition->handle, condition);
  }
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    for (const auto& inner : node->graphs()) Collect(*inner, declared);
  }
}

// Appends the conditions that a node and the nodes of its inner graphs set or
// test.
void CollectUses(const Node& node, const DeclaredConditions& declared,
                 std::vector<CUgraphConditionalHandle>* used) {
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    for (const auto& [i, handle] : HandleParametersOf(*kernel)) {
      if (declared.contains(handle)) used->push_back(handle);
    }
  } else if (const auto* test = std::get_if<ConditionalWork>(&node.work)) {
    used->push_back(test->condition->handle);
  }
  for (const auto& inner : node.graphs()) {
    for (const auto& each : inner->nodes()) CollectUses(*each, declared, used);
  }
}

// Finds the stage of each item and of each condition.
class StageFinder {
 public:
  StageFinder(const MemoryMap& memory, const DeclaredConditions& declared,
              const std::vector<Item>& items)
      : items_(items), stages_(items.size()) {
    for (const Item& item : items) {
      is_action_.push_back(IsAction(memory, item.node->work));
      // The nodes of a child graph are items themselves.
      auto& used = used_.emplace_back();
      if (!declared.empty() &&
          !std::holds_alternative<ChildWork>(item.node->work)) {
        CollectUses(*item.node, declared, &used);
      }
    }
  }

  // Returns false if an action is between two nodes of one condition. *culprit
  // is such a node.
  bool Find(const Node** culprit) {
    // A stage is a number of actions, unless a condition makes a cycle of them.
    const auto most = static_cast<size_t>(
        std::count(is_action_.begin(), is_action_.end(), true));
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < items_.size(); ++i) {
        changed |= Raise(i);
        if (stages_[i] <= most) continue;
        *culprit = items_[i].node;
        return false;
      }
    }
    return true;
  }

  size_t StageOf(size_t item) const { return stages_[item]; }
  const std::map<CUgraphConditionalHandle, size_t>& of_conditions() const {
    return of_conditions_;
  }

 private:
  static bool IsAction(const MemoryMap& memory, const NodeWork& work) {
    if (std::holds_alternative<HostWork>(work)) return true;
    if (!std::holds_alternative<CopyWork>(work)) return false;
    const auto lowered = Lower(memory, work, {});
    return lowered.ok() && lowered->kind == LoweredWork::Kind::kAction;
  }

  // Returns true if a stage has changed.
  bool Raise(size_t item) {
    size_t stage = stages_[item];
    for (const size_t earlier : items_[item].after) {
      stage = std::max(stage, stages_[earlier] + (is_action_[earlier] ? 1 : 0));
    }
    bool changed = false;
    for (const CUgraphConditionalHandle handle : used_[item]) {
      stage = std::max(stage, of_conditions_[handle]);
    }
    for (const CUgraphConditionalHandle handle : used_[item]) {
      changed |= std::exchange(of_conditions_[handle], stage) != stage;
    }
    return std::exchange(stages_[item], stage) != stage || changed;
  }

  const std::vector<Item>& items_;
  std::vector<bool> is_action_;
  std::vector<std::vector<CUgraphConditionalHandle>> used_;
  std::vector<size_t> stages_;
  std::map<CUgraphConditionalHandle, size_t> of_conditions_;
};

// The graph's nodes, each behind those that it depends on; fewer than all if
// there is a cycle.
std::vector<const Node*> InOrder(const Graph& graph) {
  std::vector<const Node*> order;
  std::unordered_map<const Node*, size_t> missing;
  for (const std::shared_ptr<Node>& node : graph.nodes()) {
    missing[node.get()] = node->dependencies.size();
    if (node->dependencies.empty()) order.push_back(node.get());
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge& edge : order[i]->dependents) {
      if (--missing[edge.node] == 0) order.push_back(edge.node);
    }
  }
  return order;
}

// Makes one program, or the definition of one body.
class ProgramMaker {
 public:
  ProgramMaker(const MemoryMap& memory, Program* program, const Node** culprit)
      : memory_(memory), program_(program), culprit_(culprit) {
    program_->stages.resize(1);
  }

  CUresult MakeAll(const Graph& graph) {
    CUresult result = Flatten(graph, {}, nullptr);
    if (result != CUDA_SUCCESS) return result;
    DeclaredConditions declared;
    Collect(graph, &declared);
    StageFinder finder(memory_, declared, items_);
    if (!finder.Find(culprit_)) return CUDA_ERROR_NOT_SUPPORTED;
    auto conditions = std::make_shared<ConditionMap>();
    for (const auto& [handle, stage] : finder.of_conditions()) {
      (*conditions)[handle] = Declare(*declared[handle], stage);
    }
    conditions_ = std::move(conditions);
    places_.resize(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      places_[i].stage = finder.StageOf(i);
    }
    return Build();
  }

 private:
  // For a body, which runs in the stage of its node.
  ProgramMaker(const ProgramMaker& outer, GraphDefinition* body)
      : memory_(outer.memory_),
        program_(outer.program_),
        culprit_(outer.culprit_),
        body_(body),
        conditions_(outer.conditions_) {}

  CUresult MakeBody(const Graph& graph) {
    const CUresult result = Flatten(graph, {}, nullptr);
    if (result != CUDA_SUCCESS) return result;
    places_.resize(items_.size());
    return Build();
  }

  GraphCondition Declare(const Condition& condition, size_t stage) {
    return StageAt(stage).definition.CreateCondition(
        condition.is_assigned ? std::optional(condition.initial)
                              : std::nullopt);
  }

  // Appends the nodes of a graph, whose first ones come after `before`. *ends,
  // unless null, gets those that nothing of the graph depends on.
  CUresult Flatten(const Graph& graph, const std::vector<size_t>& before,
                   std::vector<size_t>* ends) {
    const std::vector<const Node*> order = InOrder(graph);
    if (order.size() < graph.nodes().size()) {
      *culprit_ = FindCycle(graph, order);
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::unordered_map<const Node*, size_t> items;
    for (const Node* node : order) {
      std::vector<size_t> after;
      for (const Edge& edge : node->dependencies) {
        after.push_back(items[edge.node]);
      }
      if (after.empty()) after = before;
      if (const auto* child = std::get_if<ChildWork>(&node->work)) {
        const CUresult result = FlattenChild(*child, &after);
        if (result != CUDA_SUCCESS) return result;
      }
      items[node] = items_.size();
      if (ends != nullptr && node->dependents.empty()) {
        ends->push_back(items_.size());
      }
      items_.push_back({node, std::move(after)});
    }
    return CUDA_SUCCESS;
  }

  // *after: what the child comes after; then its last nodes, if it has any.
  CUresult FlattenChild(const ChildWork& child, std::vector<size_t>* after) {
    const Graph& graph = *child.graphs[0];
    if (graph.nodes().empty()) return CUDA_SUCCESS;
    std::vector<size_t> ends;
    const CUresult result = Flatten(graph, *after, &ends);
    *after = std::move(ends);
    return result;
  }

  static const Node* FindCycle(const Graph& graph,
                               const std::vector<const Node*>& order) {
    for (const std::shared_ptr<Node>& node : graph.nodes()) {
      if (std::find(order.begin(), order.end(), node.get()) == order.end()) {
        return node.get();
      }
    }
    return nullptr;
  }

  // Lowers the items, which stand in an order of their dependencies.
  CUresult Build() {
    for (size_t i = 0; i < items_.size(); ++i) {
      const CUresult result = BuildItem(items_[i], &places_[i]);
      if (result != CUDA_SUCCESS) {
        if (*culprit_ == nullptr) *culprit_ = items_[i].node;
        return result;
      }
      places_[i].conditions = conditions_;
      program_->places[items_[i].node] = places_[i];
    }
    return CUDA_SUCCESS;
  }

  CUresult BuildItem(const Item& item, Program::Place* place) {
    LoweredWork lowered;
    const CUresult result = LowerItem(item, &lowered);
    if (result != CUDA_SUCCESS) return result;
    place->kind = lowered.kind;
    place->is_fixed = body_ != nullptr ||
                      std::holds_alternative<ConditionalWork>(item.node->work);
    return IsAction(*place) ? AddStep(item, std::move(lowered), *place)
                            : AddNode(item, std::move(lowered), place);
  }

  static bool IsAction(const Program::Place& place) {
    return place.kind == LoweredWork::Kind::kAction;
  }
  bool IsAction(size_t item) const { return IsAction(places_[item]); }

  CUresult LowerItem(const Item& item, LoweredWork* lowered) {
    const NodeWork& work = item.node->work;
    if (const auto* conditional = std::get_if<ConditionalWork>(&work)) {
      return LowerConditional(*conditional, lowered);
    }
    const bool is_left_out = body_ != nullptr && !item.node->enabled;
    HOLDFAST_ANSWER_OR_ASSIGN(
        *lowered, Lower(memory_, is_left_out ? NodeWork(EmptyWork{}) : work,
                        *conditions_));
    return CUDA_SUCCESS;
  }

  CUresult LowerConditional(const ConditionalWork& work, LoweredWork* lowered) {
    std::vector<GraphDefinition> bodies(work.graphs.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      const CUresult result =
          ProgramMaker(*this, &bodies[i]).MakeBody(*work.graphs[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    const auto condition = conditions_->find(work.condition->handle);
    if (condition == conditions_->end()) return CUDA_ERROR_INVALID_VALUE;
    lowered->params =
        ParamsOf(work.type, condition->second, bodies).On(work.context.device);
    return CUDA_SUCCESS;
  }

  static NodeParams ParamsOf(CUgraphConditionalNodeType type,
                             GraphCondition condition,
                             const std::vector<GraphDefinition>& bodies) {
    switch (type) {
      case CU_GRAPH_COND_TYPE_IF:
        return bodies.size() == 1 ? IfNode(condition, bodies[0])
                                  : IfElseNode(condition, bodies[0], bodies[1]);
      case CU_GRAPH_COND_TYPE_WHILE:
        return WhileNode(condition, bodies[0]);
      default:
        return SwitchNode(condition, bodies);
    }
  }

  CUresult AddStep(const Item& item, LoweredWork lowered,
                   const Program::Place& place) {
    if (body_ != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    StageAt(place.stage)
        .steps.push_back(
            {item.node, std::move(lowered.action), item.node->enabled});
    return CUDA_SUCCESS;
  }

  CUresult AddNode(const Item& item, LoweredWork lowered,
                   Program::Place* place) {
    // Stages run one after the other, and so do their nodes.
    std::vector<GraphNode> after;
    for (const size_t earlier : item.after) {
      if (places_[earlier].stage == place->stage && !IsAction(earlier)) {
        after.push_back(places_[earlier].id);
      }
    }
    GraphDefinition& definition =
        body_ != nullptr ? *body_ : StageAt(place->stage).definition;
    HOLDFAST_ANSWER_OR_ASSIGN(
        place->id, definition.Add(*std::move(lowered.params), after));
    return CUDA_SUCCESS;
  }

  Stage& StageAt(size_t index) {
    if (program_->stages.size() <= index) program_->stages.resize(index + 1);
    return program_->stages[index];
  }

  const MemoryMap& memory_;
  Program* const program_;
  const Node** const culprit_;
  GraphDefinition* const body_ = nullptr;  // null: the whole is made
  Conditions conditions_;                  // of all stages
  std::vector<Item> items_;
  std::vector<Program::Place> places_;  // of the items
};

}  // namespace

CUresult MakeProgram(const MemoryMap& memory, const Graph& graph,
                     Program* program, const Node** culprit) {
  return ProgramMaker(memory, program, culprit).MakeAll(graph);
}

}  // namespace holdfast::libcuda
