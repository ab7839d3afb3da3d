// SPDX-License-Identifier: Apache-2.0
//
// Control-flow analyses for the shape analysis and the emitter: where diverged
// lanes meet again, and which registers are still needed there.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_

#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns the blocks that may run after block `k`, possibly lower::kExit.
std::vector<int> Successors(const lower::Kernel& kernel, size_t k);

// Returns the blocks after which block `k` may run, in ascending order.
std::vector<int> Predecessors(const lower::Kernel& kernel, size_t k);

// Returns, by block, the number of its outermost loop, less than the number of
// blocks; -1 if the block runs at most once. Without `past_barriers`, only
// loops that a warp can repeat without reaching a barrier of its block count.
std::vector<int> Loops(const lower::Kernel& kernel, bool past_barriers = true);

// Returns, by block, the first block on every path from its end to the end of
// the thread; lower::kExit if there is none.
std::vector<int> ImmediatePostDominators(const lower::Kernel& kernel);

// Returns the blocks, in ascending order, that lanes which diverge at the end
// of block `k` may run before they meet at `join`. The blocks can run one after
// the other, each under a mask, without a search for pending lanes: each block
// leads only forward, to another of them or to the join, and none has an
// instruction that depends on which lanes run together. Returns no blocks if
// that is not possible, or if there are too many.
std::vector<int> BranchRegion(const lower::Kernel& kernel, size_t k, int join);

// Returns, by block and register, whether the value at the start of the block
// is needed.
std::vector<std::vector<bool>> LiveRegisters(const lower::Kernel& kernel);

// The same before instruction `index` of block `k`. `live` is the result of
// LiveRegisters.
std::vector<bool> LiveRegistersAt(const lower::Kernel& kernel,
                                  const std::vector<std::vector<bool>>& live,
                                  size_t k, uint32_t index);

// Returns true if the result depends only on the operands.
bool IsPure(const ptx::Instruction& instruction);

// Returns, by register, whether its value comes from memory or other lanes,
// directly or indirectly.
std::vector<bool> RegistersFromData(const lower::Kernel& kernel);

// Returns, by register, whether lanes that have diverged at the end of a block
// of `divergent` may have values of different origin where they meet again.
std::vector<bool> MergedRegisters(const lower::Kernel& kernel,
                                  const std::vector<int>& post_dominators,
                                  const std::vector<std::vector<bool>>& live,
                                  const std::vector<bool>& divergent);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
