// SPDX-License-Identifier: Apache-2.0
//
// How full code leaves for masked code, and which masked code there has to be.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_

#include <cstdint>
#include <set>
#include <vector>

#include "core/software/jit/kernel_facts.h"
#include "llvm/IR/BasicBlock.h"

namespace holdfast::software::jit {

// One reason to leave full code, for all places where that happens.
struct FullPathExit {
  llvm::BasicBlock* block = nullptr;  // full code, which calls masked code
  std::set<int> roots;                // blocks where masked code may start
  std::set<int> masked_only;  // blocks that full code leaves in front of
  // Where masked code is entered: at a block, by its number; or in front of an
  // instruction, by a larger number that stands for it.
  std::set<int> entries;
  std::set<uint32_t> live_outs;  // registers that are left in the frame
};

// Which blocks masked code has, by block.
struct MaskedPlan {
  // All lanes may meet here and go back to full code.
  std::vector<bool> meets;
  // Both exits together.
  FullPathExit arrival;
  // Overflow leads to blocks that divergence does not: code for it is a
  // function of its own.
  bool split = false;
};

// Returns, by block, whether masked code that starts at `roots` has it.
std::vector<bool> MaskedBlocksFrom(const lower::Kernel& kernel,
                                   const KernelFacts& facts,
                                   const std::set<int>& roots);

// Decides when all exits of full code are known. Adds the start of the kernel
// to `divergence` if the block has a partial warp.
//
// A way back costs more than its code: behind it nothing that full code has
// computed in front of it is known to be as it was, above all in loops. So
// there is none for warps that left because an index overflowed, which is rare,
// and partial warps never meet.
MaskedPlan PlanMaskedCode(const lower::Kernel& kernel, const KernelFacts& facts,
                          const analysis::BlockShape& block,
                          FullPathExit* divergence,
                          const FullPathExit& overflow);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXIT_H_
