// SPDX-License-Identifier: Apache-2.0
//
// The changes that CUDA allows in an instantiated graph.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_

#include <utility>
#include <vector>

#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/node.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Checks whether CUDA allows a node's work to change from `before` to `after`.
// Returns CU_GRAPH_EXEC_UPDATE_SUCCESS, or the reason against the change.
// REQUIRES: both have the same type.
CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after);

// A node of an instantiated graph, and the node with its new parameters.
using NodePair = std::pair<Node*, const Node*>;

// Pairs the nodes of two graphs and of their inner graphs, by CUDA's rule: the
// nodes without dependents in the order in which they were added, then
// dependencies in the order of their edges. Appends to *pairs. Returns false,
// with the reason and the node in *info, if the topologies or node types
// differ, or CheckChange refuses a change.
bool PairNodes(const MemoryMap& memory, const Graph& before, const Graph& after,
               std::vector<NodePair>* pairs, CUgraphExecUpdateResultInfo* info);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_
