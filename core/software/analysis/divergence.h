// SPDX-License-Identifier: Apache-2.0
//
// The shapes of a kernel's registers.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_

#include <vector>

#include "core/software/analysis/lane_shape.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

struct DivergenceAnalysis {
  std::vector<LaneShape> registers;
  // kMasked only: a write need not keep the old value for inactive lanes.
  std::vector<bool> overwrite;
  // kFull only, by block: diverged lanes are expected to meet here.
  std::vector<bool> meetings;
  // kFull only, by block: the blocks that lanes which diverge at its end run
  // under masks; see BranchRegion. The lanes continue together at `joins`.
  std::vector<std::vector<int>> regions;
  std::vector<int> joins;
  // kFull only, by block: see ScalarLoops. Full code does not run these.
  std::vector<int> lane_loops;
};

DivergenceAnalysis AnalyzeDivergence(const lower::Kernel& kernel,
                                     const BlockShape& block, Mode mode,
                                     int chunk_lanes);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_
