// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_DOT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_DOT_H_

#include <string>

#include "core/software/driver/graph/graph.h"

namespace holdfast::software {

// Returns the graph in the DOT language of Graphviz, with inner graphs as
// clusters. `flags` are CU_GRAPH_DEBUG_DOT_FLAGS_... flags, which add lines to
// the labels of nodes.
std::string DrawGraph(const Graph& graph, unsigned flags);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_DOT_H_
