// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_

#include <vector>

#include "core/software/lower/kernel.h"
#include "core/software/lower/shape.h"

namespace holdfast::software::lower {

// Loops that one lane after the other had better run to the end, as a CPU's
// threads would: lanes leave them as their data say, and most of what they do
// is to load from places of their own, for which vectors are no help. Such a
// loop only loads and computes, so that no lane can see how far another is.
//
// By block: the first block of the loop that it lies in, or -1. `shapes` and
// `divergent` (by block: lanes may part at its end) are those of full code.
std::vector<int> LaneLoops(const Kernel& kernel,
                           const std::vector<Shape>& shapes,
                           const std::vector<bool>& divergent);

// Whether control comes to block `k`, which lies in such a loop, from outside.
bool EntersLaneLoop(const Kernel& kernel, const std::vector<int>& loops,
                    size_t k);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_LANE_LOOPS_H_
