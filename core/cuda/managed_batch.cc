// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/managed_batch.h"

namespace holdfast::cuda {

CUresult ReadRanges(const CUdeviceptr* addresses, const size_t* sizes,
                    size_t count, unsigned long long flags,
                    ManagedBatch* batch) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  batch->reserve(count);
  for (size_t i = 0; i < count; ++i) batch->push_back({addresses[i], sizes[i]});
  return CUDA_SUCCESS;
}

CUresult ReadPlaces(const CUmemLocation* places, const size_t* starts,
                    size_t place_count, ManagedBatch* batch) {
  if (places == nullptr || starts == nullptr || place_count == 0 ||
      starts[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t k = 0; k < place_count; ++k) {
    const bool is_last = k + 1 == place_count;
    const size_t end = is_last ? batch->size() : starts[k + 1];
    if (end <= starts[k] || end > batch->size()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = starts[k]; i < end; ++i) (*batch)[i].place = places[k];
  }
  return CUDA_SUCCESS;
}

}  // namespace holdfast::cuda
