// SPDX-License-Identifier: Apache-2.0
//
// Nodes that contain graphs: child graphs, and the bodies of conditional nodes.
//
//   const GraphCondition more = definition.CreateCondition(1);
//   GraphDefinition body;  // a kernel of it sets the condition
//   body.Add(KernelNode({.grid = 1, .block = 256}, step, x, more));
//   definition.Add(WhileNode(more, body), {a});
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NESTED_NODES_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NESTED_NODES_H_

#include <vector>

#include "client/cpp/graph/definition/condition.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/node_params.h"

namespace holdfast {

// Returns a node that runs another definition.
NodeParams ChildNode(const GraphDefinition& child);

// The bodies of conditional nodes may contain launches, copies, fills, empty
// nodes, child graphs and conditional nodes. INVALID_ARGUMENT: a body contains
// another kind of node.
//
// Runs `then` if the condition is not 0, else `otherwise`.
NodeParams IfNode(GraphCondition condition, const GraphDefinition& then);
NodeParams IfElseNode(GraphCondition condition, const GraphDefinition& then,
                      const GraphDefinition& otherwise);
// Runs the body while the condition is not 0. Tests the condition first.
NodeParams WhileNode(GraphCondition condition, const GraphDefinition& body);
// Runs branch n if the condition is n. Runs nothing if there is no such branch.
NodeParams SwitchNode(GraphCondition condition,
                      const std::vector<GraphDefinition>& branches);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NESTED_NODES_H_
