// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/program.h"

#include <algorithm>
#include <deque>
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
  Conditions conditions;
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
    const CUresult result = Flatten(graph, {}, Declare(graph, {}), nullptr);
    return result == CUDA_SUCCESS ? Build() : result;
  }

 private:
  // For a body, whose conditions are those of the whole.
  ProgramMaker(const ProgramMaker& outer, GraphDefinition* body)
      : memory_(outer.memory_),
        program_(outer.program_),
        culprit_(outer.culprit_),
        body_(body) {}

  // Declares the conditions of a graph beside those around it.
  Conditions Declare(const Graph& graph, const Conditions& outer) {
    if (graph.conditions.empty() && outer != nullptr) return outer;
    auto declared = outer == nullptr ? std::make_shared<ConditionMap>()
                                     : std::make_shared<ConditionMap>(*outer);
    for (const auto& condition : graph.conditions) {
      (*declared)[condition->handle] =
          program_->stages[0].definition.CreateCondition(
              condition->is_assigned ? std::optional(condition->initial)
                                     : std::nullopt);
    }
    return declared;
  }

  // Appends the nodes of a graph, whose first ones come after `before`. *ends,
  // unless null, gets those that nothing of the graph depends on.
  CUresult Flatten(const Graph& graph, const std::vector<size_t>& before,
                   const Conditions& conditions, std::vector<size_t>* ends) {
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
        const CUresult result = FlattenChild(*child, conditions, &after);
        if (result != CUDA_SUCCESS) return result;
      }
      items[node] = items_.size();
      if (ends != nullptr && node->dependents.empty()) {
        ends->push_back(items_.size());
      }
      items_.push_back({node, std::move(after), conditions});
    }
    return CUDA_SUCCESS;
  }

  // *after: what the child comes after; then its last nodes, if it has any.
  CUresult FlattenChild(const ChildWork& child, const Conditions& conditions,
                        std::vector<size_t>* after) {
    const Graph& graph = *child.graphs[0];
    if (graph.nodes().empty()) return CUDA_SUCCESS;
    std::vector<size_t> ends;
    const CUresult result =
        Flatten(graph, *after, Declare(graph, conditions), &ends);
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
    places_.resize(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      const CUresult result = BuildItem(items_[i], &places_[i]);
      if (result != CUDA_SUCCESS) {
        if (*culprit_ == nullptr) *culprit_ = items_[i].node;
        return result;
      }
      places_[i].conditions = items_[i].conditions;
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
    for (const size_t earlier : item.after) {
      place->stage = std::max(
          place->stage, places_[earlier].stage + (IsAction(earlier) ? 1 : 0));
    }
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
      return LowerConditional(*conditional, item.conditions, lowered);
    }
    const bool is_left_out = body_ != nullptr && !item.node->enabled;
    HOLDFAST_ANSWER_OR_ASSIGN(
        *lowered, Lower(memory_, is_left_out ? NodeWork(EmptyWork{}) : work,
                        *item.conditions));
    return CUDA_SUCCESS;
  }

  CUresult LowerConditional(const ConditionalWork& work,
                            const Conditions& conditions,
                            LoweredWork* lowered) {
    std::vector<GraphDefinition> bodies(work.graphs.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      ProgramMaker maker(*this, &bodies[i]);
      const Graph& graph = *work.graphs[i];
      CUresult result =
          maker.Flatten(graph, {}, maker.Declare(graph, conditions), nullptr);
      if (result == CUDA_SUCCESS) result = maker.Build();
      if (result != CUDA_SUCCESS) return result;
    }
    const auto condition = conditions->find(work.condition->handle);
    if (condition == conditions->end()) return CUDA_ERROR_INVALID_VALUE;
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
    if (body_ != nullptr || !item.conditions->empty()) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
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
  std::vector<Item> items_;
  std::vector<Program::Place> places_;  // of the items
};

}  // namespace

CUresult MakeProgram(const MemoryMap& memory, const Graph& graph,
                     Program* program, const Node** culprit) {
  return ProgramMaker(memory, program, culprit).MakeAll(graph);
}

}  // namespace holdfast::libcuda
