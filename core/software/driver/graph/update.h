// SPDX-License-Identifier: Apache-2.0
//
// Which changes an instantiated graph takes.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_

#include <utility>
#include <vector>

#include "core/software/driver/graph/graph.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// Whether a node that does `before` may do `after` instead. Both are of the
// same type.
CUgraphExecUpdateResult CheckChange(const NodeParameters& before,
                                    const NodeParameters& after,
                                    const MemoryMap& memory);

// A node of an instantiated graph's definition and the one it is updated from.
using NodePair = std::pair<GraphNode*, const GraphNode*>;

// Pairs the nodes of two graphs, those of child graphs included, by CUDA's
// rule: last nodes in the order of their creation, then dependencies in the
// order of the edges. Returns false, with the reason and the nodes in *info, if
// the graphs differ in more than parameters.
bool PairNodes(const Graph& before, const Graph& after, const MemoryMap& memory,
               std::vector<NodePair>* pairs, CUgraphExecUpdateResultInfo* info);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
