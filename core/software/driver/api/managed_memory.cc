// SPDX-License-Identifier: Apache-2.0
//
// Entry points: advice about managed memory. There is one memory, so nothing
// moves; what was said is remembered for the whole allocation and told.
#include <optional>

#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

// Returns the managed memory that holds the whole range.
std::optional<Region> FindManaged(Driver& driver, CUdeviceptr pointer,
                                  size_t size) {
  std::optional<Region> region = driver.memory.Find(pointer);
  if (!region.has_value() || region->kind != MemoryKind::kManaged ||
      size == 0 || size > region->size - (pointer - region->address)) {
    return std::nullopt;
  }
  return region;
}

// body(const Region&) for managed memory that holds the whole range.
template <typename Body>
CUresult WithManaged(CUdeviceptr pointer, size_t size, Body body) {
  return WithContext([&](Driver& driver, Context&) -> CUresult {
    const std::optional<Region> region = FindManaged(driver, pointer, size);
    return region.has_value() ? body(driver, *region)
                              : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

extern "C" {

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t size, CUmem_advise hint,
                        CUmemLocation location) {
  return WithManaged(pointer, size, [&](Driver& driver, const Region& region) {
    holdfast::cuda::MemoryAdvice advice = region.advice;
    const CUresult result = advice.Set(hint, location, driver.device_count());
    if (result == CUDA_SUCCESS) driver.memory.Advise(region.address, advice);
    return result;
  });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t size,
                               CUmemLocation location, unsigned flags,
                               CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream&) {
    const std::optional<Region> region = FindManaged(driver, pointer, size);
    if (!region.has_value() || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    holdfast::cuda::MemoryAdvice advice = region->advice;
    const CUresult result = advice.Prefetch(location, driver.device_count());
    if (result == CUDA_SUCCESS) driver.memory.Advise(region->address, advice);
    return result;
  });
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_size,
                                CUmem_range_attribute attribute,
                                CUdeviceptr pointer, size_t size) {
  return WithManaged(pointer, size, [&](Driver&, const Region& region) {
    return region.advice.Get(attribute, data, data_size);
  });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* data_sizes,
                                 CUmem_range_attribute* attributes,
                                 size_t count, CUdeviceptr pointer,
                                 size_t size) {
  return WithManaged(pointer, size, [&](Driver&, const Region& region) {
    return region.advice.GetAll(data, data_sizes, attributes, count);
  });
}

}  // extern "C"
