// SPDX-License-Identifier: Apache-2.0
//
// Entry points: advice about managed memory. There is one memory, so nothing
// moves; what was said is remembered for the whole allocation and told.
#include <algorithm>
#include <cstring>

#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

bool IsLocation(Driver& driver, const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return driver.FindDevice(location.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return true;
    default:
      return false;
  }
}

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

CUresult Advise(MemoryAdvice* advice, CUmem_advise what,
                const CUmemLocation& location) {
  switch (what) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      advice->read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      advice->preferred = location;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      advice->preferred = MemoryAdvice().preferred;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: {
      const bool set = what == CU_MEM_ADVISE_SET_ACCESSED_BY;
      if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        advice->accessed_by_host = set;
      } else if (set) {
        advice->accessed_by_devices |= SetOf(location.id);
      } else {
        advice->accessed_by_devices &= ~SetOf(location.id);
      }
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

int OldLocation(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CU_DEVICE_CPU;
    default:
      return CU_DEVICE_INVALID;
  }
}

CUresult Store(void* data, size_t size, int value) {
  if (size != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;
  memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

// A list of devices, filled up with CU_DEVICE_INVALID.
CUresult StoreAccessedBy(void* data, size_t size, const MemoryAdvice& advice) {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  int* list = static_cast<int*>(data);
  const size_t room = size / sizeof(int);
  std::fill_n(list, room, int{CU_DEVICE_INVALID});
  size_t count = 0;
  for (int i = 0; i < Driver::Get().device_count() && count < room; ++i) {
    if ((advice.accessed_by_devices & SetOf(i)) != 0) list[count++] = i;
  }
  if (advice.accessed_by_host && count < room) list[count] = CU_DEVICE_CPU;
  return CUDA_SUCCESS;
}

CUresult GetAttribute(const MemoryAdvice& advice, void* data, size_t size,
                      CUmem_range_attribute attribute) {
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return Store(data, size, advice.read_mostly);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return Store(data, size, OldLocation(advice.preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return StoreAccessedBy(data, size, advice);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return Store(data, size, OldLocation(advice.prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return Store(data, size, advice.preferred.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return Store(data, size, advice.preferred.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return Store(data, size, advice.prefetched.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return Store(data, size, advice.prefetched.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

extern "C" {

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t size, CUmem_advise what,
                        CUmemLocation location) {
  return WithManaged(pointer, size, [&](Driver& driver, const Region& region) {
    const bool placed = what != CU_MEM_ADVISE_SET_READ_MOSTLY &&
                        what != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
                        what != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (placed && !IsLocation(driver, location)) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    MemoryAdvice advice = region.advice;
    const CUresult result = Advise(&advice, what, location);
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
    if (!IsLocation(driver, location)) return CUDA_ERROR_INVALID_DEVICE;
    MemoryAdvice advice = region->advice;
    advice.prefetched = location;
    driver.memory.Advise(region->address, advice);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_size,
                                CUmem_range_attribute attribute,
                                CUdeviceptr pointer, size_t size) {
  return WithManaged(pointer, size, [&](Driver&, const Region& region) {
    return data == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : GetAttribute(region.advice, data, data_size, attribute);
  });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* data_sizes,
                                 CUmem_range_attribute* attributes,
                                 size_t count, CUdeviceptr pointer,
                                 size_t size) {
  if (AnyNull(data, data_sizes, attributes) || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = cuMemRangeGetAttribute(
        data[i], data_sizes[i], attributes[i], pointer, size);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
