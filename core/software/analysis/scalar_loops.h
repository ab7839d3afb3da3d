// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_

#include <vector>

#include "core/software/analysis/lane_shape.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Finds loops that are faster scalarized, one lane at a time, than vectorized
// under a mask: lanes leave them when their data say so, and most of the work
// is to load from places of a lane's own, where vectors do not help. Such a
// loop only loads and computes, so no lane can observe how far another is.
//
// Returns, by block, the first block of the loop that it lies in, or -1.
// `shapes` and `divergent` (by block: lanes may part at its end) are those of
// full code.
std::vector<int> ScalarLoops(const lower::Kernel& kernel,
                             const std::vector<LaneShape>& shapes,
                             const std::vector<bool>& divergent);

// Returns whether control enters block `k` from outside of its loop. REQUIRES:
// the block lies in one.
bool EntersScalarLoop(const lower::Kernel& kernel,
                      const std::vector<int>& loops, size_t k);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
