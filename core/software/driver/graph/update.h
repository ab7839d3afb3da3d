// SPDX-License-Identifier: Apache-2.0
//
// Checks changes of nodes of an instantiated graph.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_

#include "core/software/driver/graph/graph.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// Returns CU_GRAPH_EXEC_UPDATE_SUCCESS if the work of a node may change from
// `before` to `after`; otherwise the reason why not. REQUIRES: `before` and
// `after` have the same type.
CUgraphExecUpdateResult CheckChange(const MemoryMap& memory,
                                    const NodeWork& before,
                                    const NodeWork& after);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_UPDATE_H_
