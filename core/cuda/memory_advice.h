// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_MEMORY_ADVICE_H_
#define HOLDFAST_CORE_CUDA_MEMORY_ADVICE_H_

#include <cstddef>
#include <cstdint>

#include "cuda.h"

namespace holdfast::cuda {

// The hints of cuMemAdvise and cuMemPrefetchAsync about one piece of managed
// memory. A driver whose managed memory never moves keeps them only for
// cuMemRangeGetAttribute. The class is a plain value. `device_count` is the
// number of the program's devices, at most 64.
class MemoryAdvice {
 public:
  // Implements cuMemAdvise. CUDA_ERROR_INVALID_DEVICE: the hint needs a
  // location, and `location` names neither a device nor host memory.
  // CUDA_ERROR_INVALID_VALUE: there is no such hint.
  CUresult Set(CUmem_advise hint, const CUmemLocation& location,
               int device_count);
  // Implements cuMemPrefetchAsync. CUDA_ERROR_INVALID_DEVICE: `location` names
  // neither a device nor host memory.
  CUresult Prefetch(const CUmemLocation& location, int device_count);

  // Implements cuMemRangeGetAttribute. CUDA_ERROR_INVALID_VALUE: there is no
  // such attribute, `data` is null, or `size` is not the size of the value.
  CUresult Get(CUmem_range_attribute attribute, void* data, size_t size) const;
  // Implements cuMemRangeGetAttributes. Calls Get for each of the `count`
  // attributes in order, and returns the first failure.
  // CUDA_ERROR_INVALID_VALUE: also if `count` is 0, or a list is null.
  CUresult GetAll(void** data, const size_t* sizes,
                  const CUmem_range_attribute* attributes, size_t count) const;

 private:
  void SetAccessedBy(const CUmemLocation& location, bool is_accessed);
  CUresult GetAccessedBy(void* data, size_t size) const;

  bool is_read_mostly_ = false;
  uint64_t accessed_by_devices_ = 0;  // one bit a device
  bool is_accessed_by_host_ = false;
  CUmemLocation preferred_{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};
  CUmemLocation prefetched_{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MEMORY_ADVICE_H_
