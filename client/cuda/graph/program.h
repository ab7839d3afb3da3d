// SPDX-License-Identifier: Apache-2.0
//
// A graph of the program in the form in which a daemon runs it.
//
// The daemon cannot call functions of this process. A graph that has some is
// made as several, its stages: all that can run before any action of this
// process, all that can run after the first actions, and so on. The stream of a
// launch waits between two stages until the actions have returned.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "client/cpp/graph/graph_definition.h"
#include "client/cpp/graph/graph_node.h"
#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/lowered_work.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

struct Stage {
  // An action, in the order in which they are called.
  struct Step {
    const Node* node = nullptr;
    HostAction action;
    bool enabled = true;
  };

  GraphDefinition definition;
  std::vector<Step> steps;  // behind the definition
};

struct Program {
  // The part that a node has become.
  struct Place {
    size_t stage = 0;
    GraphNode id;  // in the stage's definition, unless it is an action
    LoweredWork::Kind kind = LoweredWork::Kind::kEmpty;
    // The program has to be made anew if the node changes: it is in a body of a
    // conditional node, or is one.
    bool is_fixed = false;
    std::shared_ptr<const ConditionMap> conditions;
  };

  std::vector<Stage> stages;
  std::unordered_map<const Node*, Place> places;
};

// Child graphs become nodes of the graph around them. Disabled nodes become
// empty ones where they are fixed. CUDA_ERROR_INVALID_VALUE: a cycle, or a node
// whose memory has gone; *culprit is the node. CUDA_ERROR_NOT_SUPPORTED: an
// action in a body of a conditional node, or beside a condition.
CUresult MakeProgram(const MemoryMap& memory, const Graph& graph,
                     Program* program, const Node** culprit);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_
