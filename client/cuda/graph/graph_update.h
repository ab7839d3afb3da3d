// SPDX-License-Identifier: Apache-2.0
//
// The changes that CUDA allows in an instantiated graph.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_

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

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_UPDATE_H_
