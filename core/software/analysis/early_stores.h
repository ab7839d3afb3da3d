// SPDX-License-Identifier: Apache-2.0
//
// Finds stores to shared memory before which a warp must let the other warps
// catch up (holdfast_let_others_read).
//
// Many kernels lack a barrier between the reads of a value by all warps and the
// next write to the same place. An example is a sum over a block that is
// computed twice:
//
//   if (lane == 0) sums[warp] = sum;
//   __syncthreads();
//   if (warp == 0) sums[0] = total of sums;
//   __syncthreads();
//   return sums[0];       // and the next call writes sums[warp]
//
// The warps of a GPU run side by side, and each warp reads within a few cycles
// after the barrier, so that such kernels have the expected result. The
// software driver runs one warp at a time from one barrier to the next, so a
// warp would write before other warps have read.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_

#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns, by instruction of the kernel's body, whether the instruction is an
// early store. An early store writes to shared memory, and may run after a load
// from shared memory without a barrier of the block in between; the load has
// the same addresses in every warp. Loads whose addresses differ from warp to
// warp do not count, because most kernels have such loads.
std::vector<bool> EarlyStores(const lower::Kernel& kernel);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_
