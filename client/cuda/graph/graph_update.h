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

// May a node whose work is `before` have `after` instead? Both are of the same
// type.
CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after);

// A node of an instantiated graph, and the one that it is updated from.
using NodePair = std::pair<Node*, const Node*>;

// Pairs the nodes of two graphs, with those of inner graphs, by CUDA's rule:
// the nodes without dependents in the order in which they were added, then
// dependencies in the order of their edges. False, with the reason and the
// node in *info: the graphs differ in more than parameters.
bool PairNodes(const MemoryMap& memory, const Graph& before, const Graph& after,
               std::vector<NodePair>* pairs, CUgraphExecUpdateResultInfo* info);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_
