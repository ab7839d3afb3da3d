// SPDX-License-Identifier: Apache-2.0
//
// Checks the changes of an instantiated graph.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_

#include <utility>
#include <vector>

#include "core/software/driver/graph/graph.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// Returns CU_GRAPH_EXEC_UPDATE_SUCCESS if the parameters of a node may change
// from `before` to `after`; otherwise the reason why not. REQUIRES: both are of
// the same type.
CUgraphExecUpdateResult CheckChange(const NodeParameters& before,
                                    const NodeParameters& after,
                                    const MemoryMap& memory);

// A node of an instantiated graph's definition, and the node with its update.
using NodePair = std::pair<GraphNode*, const GraphNode*>;

// Pairs the nodes of two graphs, including child graphs, by CUDA's rule: last
// nodes in the order of their creation, then dependencies in the order of the
// edges. Returns false, with the reason and the nodes in *info, if the graphs
// differ in more than parameters, or CheckChange refuses a change.
bool PairNodes(const Graph& before, const Graph& after, const MemoryMap& memory,
               std::vector<NodePair>* pairs, CUgraphExecUpdateResultInfo* info);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
