// SPDX-License-Identifier: Apache-2.0
//
// The transitions from full code to masked code, and the blocks that need
// masked code.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_

#include <cstdint>
#include <set>
#include <vector>

#include "core/software/jit/kernel_facts.h"
#include "llvm/IR/BasicBlock.h"

namespace holdfast::software::jit {

// One reason to leave full code, with all places that leave for it.
struct FullPathExit {
  llvm::BasicBlock* block = nullptr;  // full code, which calls masked code
  std::set<int> roots;                // blocks where masked code may start
  // Blocks that only masked code runs: full code leaves in front of them.
  std::set<int> masked_only;
  // The entries of masked code: a block's number, or a larger number that
  // stands for the place before an instruction.
  std::set<int> entries;
  std::set<uint32_t> live_outs;  // registers that are passed in the frame
};

// The blocks of masked code. Vectors are indexed by block.
struct MaskedPlan {
  // Lanes may reconverge at the start of this block and return to full code.
  std::vector<bool> meets;
  // Where masked code is entered: the exits for divergence and for overflow
  // together.
  FullPathExit arrival;
  // Overflow reaches much code that divergence does not, so its code becomes a
  // function of its own.
  bool split = false;
};

// Returns, by block, whether masked code that starts at `roots` contains it.
std::vector<bool> MaskedBlocksFrom(const lower::Kernel& kernel,
                                   const KernelFacts& facts,
                                   const std::set<int>& roots);

// Plans masked code. Called when all exits of full code are known.
//
// A return to full code costs more than its own code: after it, no earlier
// result of full code can be assumed unchanged, which hurts most in loops. So
// warps that left because an index overflowed, which is rare, do not return,
// nor do partial warps, which never have 32 lanes.
MaskedPlan PlanMaskedCode(const lower::Kernel& kernel, const KernelFacts& facts,
                          const FullPathExit& divergence,
                          const FullPathExit& overflow);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
