// SPDX-License-Identifier: Apache-2.0
//
// Control-flow analyses for the analysis of shapes (lane_shape.h) and the
// emitter: where diverged lanes meet again, and which registers are still
// needed there. Blocks are basic blocks of a kernel, by index; "by block" means
// a vector with an element for each block.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_

#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns the blocks that may run after block `k`, possibly lower::kExit.
std::vector<int> Successors(const lower::Kernel& kernel, size_t k);

// Returns the blocks after which block `k` may run, in ascending order.
std::vector<int> Predecessors(const lower::Kernel& kernel, size_t k);

// Returns, by block, the number of the outermost loop that contains the block;
// -1 if the block runs at most once. The numbers are less than the number of
// blocks. If `past_barriers` is false, ignores loops in which every round
// reaches a barrier of the thread block.
std::vector<int> Loops(const lower::Kernel& kernel, bool past_barriers = true);

// Returns, by block, its immediate post-dominator: the first block that lies on
// all paths from the block's end to the end of the thread; lower::kExit if
// there is none.
std::vector<int> ImmediatePostDominators(const lower::Kernel& kernel);

// Returns the blocks, in ascending order, that lanes which diverge at the end
// of block `k` may run before they meet at block `join`. The emitter can run
// these blocks one after the other, each under a mask, without a search for
// pending lanes: each block leads only to later blocks of the result or to
// `join`, and no block has an instruction whose effect depends on which lanes
// run together. Returns no blocks if there is no such region, or if it is too
// large.
std::vector<int> BranchRegion(const lower::Kernel& kernel, size_t k, int join);

// Returns, by block and register, whether the value of the register at the
// start of the block may be read later.
std::vector<std::vector<bool>> LiveRegisters(const lower::Kernel& kernel);

// Returns, by register, whether its value before instruction `index`, an
// instruction of block `k`, may be read later. `live` is the result of
// LiveRegisters.
std::vector<bool> LiveRegistersAt(const lower::Kernel& kernel,
                                  const std::vector<std::vector<bool>>& live,
                                  size_t k, uint32_t index);

// Returns true if the result of the instruction depends only on its operands.
bool IsPure(const ptx::Instruction& instruction);

// Returns, by register, whether its value comes from memory or other lanes,
// directly or indirectly.
std::vector<bool> RegistersFromData(const lower::Kernel& kernel);

// Returns, by register, whether lanes that meet again after they have diverged
// may have values of different definitions. `divergent` says, by block, whether
// lanes may diverge at the block's end. The other arguments are the results of
// ImmediatePostDominators and LiveRegisters.
std::vector<bool> MergedRegisters(const lower::Kernel& kernel,
                                  const std::vector<int>& post_dominators,
                                  const std::vector<std::vector<bool>>& live,
                                  const std::vector<bool>& divergent);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
