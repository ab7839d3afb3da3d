// SPDX-License-Identifier: Apache-2.0
//
// Converts a graph of the program to graphs that the daemon runs.
//
// The daemon cannot call functions of this process. A graph with actions of
// this process is therefore split into stages. The first stage has the nodes
// that depend on no action, the second stage the nodes that depend on actions
// after the first stage, and so on. The stream of a launch waits between two
// stages until the actions have returned.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/definition/graph_node.h"
#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/lowered_work.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

struct Stage {
  // An action of this process.
  struct Step {
    const Node* node = nullptr;
    HostAction action;
    bool enabled = true;
  };

  GraphDefinition definition;
  // Called one after the other, after the definition has run.
  std::vector<Step> steps;
};

struct Program {
  // The part of the program that a node was converted to.
  struct Place {
    size_t stage = 0;
    GraphNode id;  // in the stage's definition, unless it is an action
    LoweredWork::Kind kind = LoweredWork::Kind::kEmpty;
    // True for a conditional node, and for nodes in its bodies: the program
    // must be made again if the node changes.
    bool is_fixed = false;
    std::shared_ptr<const ConditionMap> conditions;
  };

  std::vector<Stage> stages;
  std::unordered_map<const Node*, Place> places;
};

// Makes the program of a graph. Nodes of child graphs become nodes of the graph
// around them. Disabled nodes in bodies of conditional nodes become empty
// nodes. CUDA_ERROR_INVALID_VALUE: a cycle, or a node whose memory was freed;
// *culprit is the node. CUDA_ERROR_NOT_SUPPORTED: an action in a body of a
// conditional node, or between two nodes of one condition.
CUresult MakeProgram(const MemoryMap& memory, const Graph& graph,
                     Program* program, const Node** culprit);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_PROGRAM_H_
