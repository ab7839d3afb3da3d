// SPDX-License-Identifier: Apache-2.0
//
// The shapes of a kernel's registers.
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_

#include <vector>

#include "core/software/lower/kernel.h"
#include "core/software/lower/shape.h"

namespace holdfast::software::lower {

struct Shapes {
  std::vector<Shape> registers;
  // kMasked only: a write need not keep the old value for inactive lanes.
  std::vector<bool> overwrite;
  // kFull only, by block: diverged lanes are expected to meet here.
  std::vector<bool> meetings;
  // kFull only, by block: what lanes that part at its end run under masks; see
  // BranchRegion. They go on at `joins` together.
  std::vector<std::vector<int>> regions;
  std::vector<int> joins;
  // kFull only, by block: see LaneLoops. Full code does not run these.
  std::vector<int> lane_loops;
};

Shapes ComputeShapes(const Kernel& kernel, const BlockShape& block, Mode mode,
                     int chunk_lanes);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_
