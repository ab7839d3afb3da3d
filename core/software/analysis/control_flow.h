// SPDX-License-Identifier: Apache-2.0
//
// Control-flow analyses for the shape analysis and the emitter:
// where diverged lanes meet again, and which registers are still needed there.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_

#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// The blocks that may run after block `k`; lower::kExit among them.
std::vector<int> Successors(const lower::Kernel& kernel, size_t k);

// The blocks that block `k` may follow, in ascending order.
std::vector<int> Predecessors(const lower::Kernel& kernel, size_t k);

// By block: the number of the outermost loop that it lies in, below the number
// of blocks; -1 if it runs at most once. `past_barriers` false: of loops that a
// warp goes round without coming to a barrier of its block.
std::vector<int> Loops(const lower::Kernel& kernel, bool past_barriers = true);

// By block: the first block that every path from its end to the end of the
// thread goes through; lower::kExit if there is none.
std::vector<int> ImmediatePostDominators(const lower::Kernel& kernel);

// Blocks, in ascending order, that lanes parted at the end of block `k` may run
// before they all meet at `join`. Each leads forward only, to another or to the
// join, and none has an instruction that asks which lanes run together: so
// they can run one after the other, each under a mask, without looking for
// pending lanes. Empty if that is not so, or if they are not few.
std::vector<int> BranchRegion(const lower::Kernel& kernel, size_t k, int join);

// By block, by register: is its value at the start of the block needed?
std::vector<std::vector<bool>> LiveRegisters(const lower::Kernel& kernel);

// The same in front of instruction `index` of block k's, of what `live` says
// about starts of blocks.
std::vector<bool> LiveRegistersAt(const lower::Kernel& kernel,
                                  const std::vector<std::vector<bool>>& live,
                                  size_t k, uint32_t index);

// The result depends on nothing but the operands.
bool IsPure(const ptx::Instruction& instruction);

// By register: comes from memory or from other lanes, directly or not.
std::vector<bool> RegistersFromData(const lower::Kernel& kernel);

// By register: lanes that a branch at the end of one of `divergent` (by block)
// has parted may bring values of different origin to where they meet again.
std::vector<bool> MergedRegisters(const lower::Kernel& kernel,
                                  const std::vector<int>& post_dominators,
                                  const std::vector<std::vector<bool>>& live,
                                  const std::vector<bool>& divergent);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CONTROL_FLOW_H_
