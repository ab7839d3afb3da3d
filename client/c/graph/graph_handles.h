// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the opaque types of graphs.
#ifndef HOLDFAST_CLIENT_C_GRAPH_GRAPH_HANDLES_H_
#define HOLDFAST_CLIENT_C_GRAPH_GRAPH_HANDLES_H_

#include <cstdint>
#include <vector>

#include "client/c/holdfast.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/graph/stream_capture.h"

struct hf_node {
  holdfast::NodeParams params;
};

struct hf_definition {
  holdfast::GraphDefinition definition;
};

struct hf_capture {
  holdfast::StreamCapture capture;
};

struct hf_graph {
  holdfast::Graph graph;
};

struct hf_graph_exec {
  holdfast::GraphExec exec;
};

namespace holdfast::c {

// Returns the nodes with these ids. REQUIRES: `ids` has `count` elements.
inline std::vector<GraphNode> ToNodes(const uint32_t* ids, size_t count) {
  std::vector<GraphNode> nodes;
  nodes.reserve(count);
  for (size_t i = 0; i < count; ++i) nodes.push_back({ids[i]});
  return nodes;
}

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_GRAPH_GRAPH_HANDLES_H_
