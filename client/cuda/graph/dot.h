// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_DOT_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_DOT_H_

#include <string>

#include "client/cuda/graph/graph.h"

namespace holdfast::libcuda {

// Draws the graph in DOT, with inner graphs as clusters. `flags`:
// CU_GRAPH_DEBUG_DOT_FLAGS_...; the flags about parameters add lines to the
// labels of nodes.
std::string DrawGraph(const Graph& graph, unsigned flags);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_DOT_H_
