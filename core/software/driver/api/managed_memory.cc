// SPDX-License-Identifier: Apache-2.0
//
// Entry points: advice about managed memory. There is one memory, so nothing
// moves; what was said is remembered for the whole allocation and told. The
// bytes of a discarded range stay as they are.
#include <optional>
#include <vector>

#include "core/cuda/managed_batch.h"
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

using holdfast::cuda::ManagedBatch;

// Finds the memory of all ranges. CUDA_ERROR_INVALID_VALUE: one range is not
// managed memory.
CUresult FindAll(Driver& driver, const ManagedBatch& batch,
                 std::vector<Region>* regions) {
  for (const auto& range : batch) {
    const auto region = FindManaged(driver, range.address, range.size);
    if (!region.has_value()) return CUDA_ERROR_INVALID_VALUE;
    regions->push_back(*region);
  }
  return CUDA_SUCCESS;
}

// Prefetches all ranges, or none.
CUresult PrefetchAll(const ManagedBatch& batch, CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream&) {
    std::vector<Region> regions;
    CUresult result = FindAll(driver, batch, &regions);
    for (size_t i = 0; i < batch.size() && result == CUDA_SUCCESS; ++i) {
      result =
          regions[i].advice.Prefetch(batch[i].place, driver.device_count());
    }
    if (result != CUDA_SUCCESS) return result;
    for (const Region& region : regions) {
      driver.memory.Advise(region.address, region.advice);
    }
    return CUDA_SUCCESS;
  });
}

// Discards all ranges, or none. The bytes stay, as the call allows.
CUresult DiscardAll(const ManagedBatch& batch, CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream&) {
    std::vector<Region> regions;
    return FindAll(driver, batch, &regions);
  });
}

}  // namespace

#include "core/cuda/managed_batch.inc"

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
