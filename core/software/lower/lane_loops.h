// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_

#include <vector>

#include "core/software/lower/kernel.h"
#include "core/software/lower/shape.h"

namespace holdfast::software::lower {

// Finds loops that are faster scalarized, one lane at a time, than vectorized
// under a mask: lanes leave them when their data say so, and most of the work
// is to load from places of a lane's own, where vectors do not help. Such a
// loop only loads and computes, so no lane can observe how far another is.
//
// Returns, by block, the first block of the loop that it lies in, or -1.
// `shapes` and `divergent` (by block: lanes may part at its end) are those of
// full code.
std::vector<int> LaneLoops(const Kernel& kernel,
                           const std::vector<Shape>& shapes,
                           const std::vector<bool>& divergent);

// Returns whether control enters block `k` from outside of its loop. REQUIRES:
// the block lies in one.
bool EntersLaneLoop(const Kernel& kernel, const std::vector<int>& loops,
                    size_t k);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_
