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

  // Indexed by Mode.
  analysis::DivergenceAnalysis shapes[2];
  // [block][register]: the register is live at the start of the block.
  std::vector<std::vector<bool>> live_registers;
  // [block]: the outermost loop, as analysis::Loops numbers it, or -1.
  // `own_loops` has only loops that a warp can repeat without waiting for other
  // warps.
  std::vector<int> loops;
  std::vector<int> own_loops;
  // [register]: live at the start of some block; read by some instruction.
  std::vector<bool> crosses;
  std::vector<bool> ever_read;
  // [instruction]: see analysis::EarlyStores.
  std::vector<bool> early_stores;
  // The kernel has a convergence point; one of all warps of a block.
  bool lanes_wait = false;
  bool warps_wait = false;
};

// Returns the kind of convergence point in block `k`. An instruction that is a
// convergence point is a block of its own.
lower::ConvergencePoint ConvergencePointAt(const lower::Kernel& kernel,
                                           size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_
