// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of calls about several ranges of managed memory, such as
// cuMemPrefetchBatchAsync.
#ifndef HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_
#define HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_

#include <cstddef>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// One range of a batch. `place` is set only for calls that prefetch.
struct ManagedRange {
  CUdeviceptr address = 0;
  size_t size = 0;
  CUmemLocation place{};
};
using ManagedBatch = std::vector<ManagedRange>;

// Appends the ranges to *batch. Both arrays have `count` elements.
// CUDA_ERROR_INVALID_VALUE: `count` is 0, an array is null, or a flag is set.
CUresult ReadRanges(const CUdeviceptr* addresses, const size_t* sizes,
                    size_t count, unsigned long long flags,
                    ManagedBatch* batch);

// Sets the place to which each range of *batch is prefetched: places[k] is the
// place of the ranges from starts[k] to starts[k + 1] - 1, and the last place
// is that of all ranges from its start. Both arrays have `place_count`
// elements. CUDA_ERROR_INVALID_VALUE: an array is null or empty, the first
// range has no place, the starts do not ascend, or a start is beyond the last
// range.
CUresult ReadPlaces(const CUmemLocation* places, const size_t* starts,
                    size_t place_count, ManagedBatch* batch);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MANAGED_BATCH_H_
