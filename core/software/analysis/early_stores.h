// SPDX-License-Identifier: Apache-2.0
//
// Stores to shared memory before which a warp lets the other warps catch up.
//
// Many kernels lack a barrier between the reads of a value that all warps share
// and the next write to its place, as a sum over a block that is taken twice:
//
//   if (lane == 0) sums[warp] = sum;
//   __syncthreads();
//   if (warp == 0) sums[0] = total of sums;
//   __syncthreads();
//   return sums[0];       // and the next call writes sums[warp]
//
// The warps of a GPU run side by side, and each reads within a few cycles of
// the barrier, so that these kernels have the expected result. Here a warp runs
// alone from one barrier to the next: it would write before others have read.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_

#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns, by instruction of the kernel's body, whether it is an early store:
// it writes to shared memory, and may run after a load from shared memory in
// which every warp has the same addresses, without a barrier of the block
// between the two. Loads in which each warp has addresses of its own do not
// count, because most kernels have them.
std::vector<bool> EarlyStores(const lower::Kernel& kernel);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_EARLY_STORES_H_
