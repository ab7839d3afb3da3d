// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_

#include <vector>

#include "core/software/analysis/lane_shape.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Finds loops that are faster scalarized, one lane at a time, than vectorized
// under a mask: the data decide when a lane leaves the loop, and most of the
// work is loads from addresses that differ by lane, for which vectors do not
// help. Such a loop only loads and computes, so no lane can observe the
// progress of another.
//
// Returns, by block, the first block of its loop, or -1. `shapes` and
// `divergent` (by block: lanes may diverge at its end) are the results for full
// code.
std::vector<int> ScalarLoops(const lower::Kernel& kernel,
                             const std::vector<LaneShape>& shapes,
                             const std::vector<bool>& divergent);

// Returns true if control can enter block `k` from outside of its loop.
// REQUIRES: the block is in such a loop.
bool EntersScalarLoop(const lower::Kernel& kernel,
                      const std::vector<int>& loops, size_t k);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
