// SPDX-License-Identifier: Apache-2.0
//
// The results of all analyses of a kernel on which its code depends, for one
// block shape and one width of vectors. They are computed once, before any code
// is emitted. Vectors have one element for each block, register or instruction
// of the kernel, as their comments say.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_

#include <vector>

#include "core/software/analysis/divergence.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::jit {

struct KernelFacts {
  KernelFacts(const lower::Kernel& kernel, const analysis::BlockShape& block,
              int chunk_lanes);

  // The shapes of values in full code and in masked code, by Mode.
  analysis::DivergenceAnalysis shapes[2];
  // [block][register]: the register is live at the start of the block.
  std::vector<std::vector<bool>> live_registers;
  // [block]: the number of the outermost loop around the block, as
  // analysis::Loops numbers loops; -1: none. `own_loops` has only loops that a
  // warp can repeat without waiting for other warps.
  std::vector<int> loops;
  std::vector<int> own_loops;
  // [register]: `crosses`: the register is live at the start of a block.
  // `ever_read`: an instruction reads the register.
  std::vector<bool> crosses;
  std::vector<bool> ever_read;
  // [instruction]: see analysis::EarlyStores.
  std::vector<bool> early_stores;
  // `lanes_wait`: the kernel has a convergence point. `warps_wait`: it has a
  // convergence point of all warps of a block.
  bool lanes_wait = false;
  bool warps_wait = false;
};

// Returns the kind of the convergence point that is block `k`; kNone if it is
// none. An instruction that is a convergence point is a block of its own.
lower::ConvergencePoint ConvergencePointAt(const lower::Kernel& kernel,
                                           size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_FACTS_H_
