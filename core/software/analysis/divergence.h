// SPDX-License-Identifier: Apache-2.0
//
// Finds the shapes (lane_shape.h) of a kernel's registers, and where lanes
// diverge.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_

#include <vector>

#include "core/software/analysis/lane_shape.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// The result of the analysis for one version of the code: kFull or kMasked.
struct DivergenceAnalysis {
  std::vector<LaneShape> registers;
  // kMasked only, by register: a write need not keep the old values of inactive
  // lanes.
  std::vector<bool> overwrite;
  // kFull only, by block: diverged lanes are expected to meet at the block's
  // start.
  std::vector<bool> meetings;
  // kFull only, by block: the BranchRegion of lanes that diverge at the block's
  // end, which full code runs under masks, and the block at which these lanes
  // continue together.
  std::vector<std::vector<int>> regions;
  std::vector<int> joins;
  // kFull only, by block: the result of ScalarLoops. Full code does not run
  // these loops.
  std::vector<int> lane_loops;
};

// Returns the analysis of the kernel for launches with blocks of the shape
// `block`. `chunk_lanes` is the number of lanes of one vector of the CPU.
DivergenceAnalysis AnalyzeDivergence(const lower::Kernel& kernel,
                                     const BlockShape& block, Mode mode,
                                     int chunk_lanes);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_DIVERGENCE_H_
