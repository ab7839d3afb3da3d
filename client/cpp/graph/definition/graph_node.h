// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_NODE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_NODE_H_

#include <cstdint>

namespace holdfast {

// Names a node of a GraphDefinition, and of the graphs made from it.
struct GraphNode {
  // Unique in the definition; not 0.
  uint32_t id = 0;

  bool operator==(const GraphNode&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_GRAPH_NODE_H_
