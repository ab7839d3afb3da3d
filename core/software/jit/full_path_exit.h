// SPDX-License-Identifier: Apache-2.0
//
// The data about exits from full code to masked code, and about the blocks that
// need masked code.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_

#include <cstdint>
#include <set>
#include <vector>

#include "core/software/jit/kernel_facts.h"
#include "llvm/IR/BasicBlock.h"

namespace holdfast::software::jit {

// All exits of full code for one reason.
struct FullPathExit {
  llvm::BasicBlock* block = nullptr;  // the block that calls masked code
  std::set<int> roots;                // blocks at which masked code may start
  // Blocks that only masked code runs. Full code leaves before them.
  std::set<int> masked_only;
  // The entries of masked code. An entry is the number of a block, or a larger
  // number for the place before an instruction (FullPathExits::EntryInFrontOf).
  std::set<int> entries;
  std::set<uint32_t> live_outs;  // registers that are passed in the frame
};

// The blocks of masked code. Vectors are indexed by block.
struct MaskedPlan {
  // True: lanes may reconverge at the start of the block, and then return to
  // full code.
  std::vector<bool> meets;
  // The exit for divergence, with the roots, entries and live-outs of the exit
  // for overflow added.
  FullPathExit arrival;
  // True: the masked code for overflow becomes a function of its own, because
  // it is much larger than the masked code for divergence.
  bool split = false;
};

// Returns, for each block, whether masked code that starts at `roots` contains
// the block.
std::vector<bool> MaskedBlocksFrom(const lower::Kernel& kernel,
                                   const KernelFacts& facts,
                                   const std::set<int>& roots);

// Returns the plan for masked code. REQUIRES: `divergence` and `overflow` have
// all exits of full code.
//
// A return to full code is expensive: after it, LLVM cannot assume that an
// earlier result of full code is unchanged, which costs most in loops. So two
// kinds of warps do not return: warps that left because an index overflowed,
// which is rare, and partial warps, which never have 32 lanes.
MaskedPlan PlanMaskedCode(const lower::Kernel& kernel, const KernelFacts& facts,
                          const FullPathExit& divergence,
                          const FullPathExit& overflow);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
