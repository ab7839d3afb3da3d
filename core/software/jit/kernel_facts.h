// SPDX-License-Identifier: Apache-2.0
//
// The results of all analyses of a kernel that its code depends on, for one
// block shape and one width of vectors. Computed once, before any code.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_

#include <vector>

#include "core/software/analysis/divergence.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::jit {

struct KernelFacts {
  KernelFacts(const lower::Kernel& kernel, const analysis::BlockShape& block,
              int chunk_lanes);

  // By Mode.
  analysis::DivergenceAnalysis shapes[2];
  // By block, by register: its value at the start of the block is needed.
  std::vector<std::vector<bool>> live_registers;
  // By block, as analysis::Loops numbers them: the loop that it lies in, and
  // the loop that a warp goes round without waiting for another warp.
  std::vector<int> loops;
  std::vector<int> own_loops;
  // By register: live where some block starts; read by some instruction.
  std::vector<bool> crosses;
  std::vector<bool> ever_read;
  // Lanes wait for each other somewhere; for other warps of their block.
  bool lanes_wait = false;
  bool warps_wait = false;
};

// Returns at which kind of convergence point block `k` is; such an instruction
// is a block of its own.
lower::ConvergencePoint ConvergencePointAt(const lower::Kernel& kernel,
                                           size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_
