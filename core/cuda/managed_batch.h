// SPDX-License-Identifier: Apache-2.0
//
// The arguments of calls about several ranges of managed memory.
#ifndef HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_
#define HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_

#include <cstddef>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// One range of a batch. `place` is set for calls that prefetch.
struct ManagedRange {
  CUdeviceptr address = 0;
  size_t size = 0;
  CUmemLocation place{};
};
using ManagedBatch = std::vector<ManagedRange>;

// Reads the arrays of ranges, which have `count` elements.
// CUDA_ERROR_INVALID_VALUE: there is no range, an array is null, or a flag is
// set.
CUresult ReadRanges(const CUdeviceptr* addresses, const size_t* sizes,
                    size_t count, unsigned long long flags,
                    ManagedBatch* batch);

// Gives each range the place to which it is prefetched: places[k] is for the
// ranges from starts[k] to starts[k + 1] - 1, and the last place is for all
// ranges from its start. CUDA_ERROR_INVALID_VALUE: an array is null, the first
// range has no place, or the starts do not ascend or are beyond the last range.
CUresult ReadPlaces(const CUmemLocation* places, const size_t* starts,
                    size_t place_count, ManagedBatch* batch);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_
