// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_NODE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_NODE_H_

#include <cstdint>

namespace holdfast {

// A node of one GraphDefinition, and of all that is made of it.
struct GraphNode {
  // Unique in the definition; not 0.
  uint32_t id = 0;

  bool operator==(const GraphNode&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_NODE_H_
