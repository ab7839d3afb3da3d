// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_

#include <vector>

#include "core/software/analysis/lane_shape.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Finds loops that run faster for one lane at a time than for vectors of lanes
// under a mask. In such a loop, data decide when a lane leaves the loop, and
// most of the work is loads from addresses that differ by lane, for which
// vectors do not help. The loop only loads and computes, so no lane can observe
// the progress of another lane.
//
// Returns, by block, the first block of the loop that contains the block; -1 if
// the block is in no such loop. `shapes` has the shapes of registers in full
// code, and `divergent` says, by block, whether lanes may diverge at the
// block's end.
std::vector<int> ScalarLoops(const lower::Kernel& kernel,
                             const std::vector<LaneShape>& shapes,
                             const std::vector<bool>& divergent);

// Returns true if control can enter block `k` from outside of its loop. `loops`
// is the result of ScalarLoops. REQUIRES: loops[k] is not -1.
bool EntersScalarLoop(const lower::Kernel& kernel,
                      const std::vector<int>& loops, size_t k);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_SCALAR_LOOPS_H_
