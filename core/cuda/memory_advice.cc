// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/memory_advice.h"

#include <algorithm>
#include <cstring>

namespace holdfast::cuda {
namespace {

CUresult Store(void* data, size_t size, int value) {
  if (size != sizeof value) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// A place as the attributes without type and id tell it.
int Ordinal(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CU_DEVICE_CPU;
    default:
      return CU_DEVICE_INVALID;
  }
}

bool IsPlace(const CUmemLocation& location, int device_count) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id >= 0 && location.id < device_count;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return true;
    default:
      return false;
  }
}

// True for a hint that means a place.
bool HasPlace(CUmem_advise hint) {
  return hint == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
         hint == CU_MEM_ADVISE_SET_ACCESSED_BY ||
         hint == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

}  // namespace

CUresult MemoryAdvice::Set(CUmem_advise hint, const CUmemLocation& location,
                           int device_count) {
  if (HasPlace(hint) && !IsPlace(location, device_count)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  switch (hint) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      is_read_mostly_ = hint == CU_MEM_ADVISE_SET_READ_MOSTLY;
      break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      preferred_ = location;
      break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      preferred_ = MemoryAdvice().preferred_;
      break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      SetAccessedBy(location, hint == CU_MEM_ADVISE_SET_ACCESSED_BY);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void MemoryAdvice::SetAccessedBy(const CUmemLocation& location,
                                 bool is_accessed) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    is_accessed_by_host_ = is_accessed;
    return;
  }
  const uint64_t bit = uint64_t{1} << location.id;
  accessed_by_devices_ =
      is_accessed ? accessed_by_devices_ | bit : accessed_by_devices_ & ~bit;
}

CUresult MemoryAdvice::Prefetch(const CUmemLocation& location,
                                int device_count) {
  if (!IsPlace(location, device_count)) return CUDA_ERROR_INVALID_DEVICE;
  prefetched_ = location;
  return CUDA_SUCCESS;
}

CUresult MemoryAdvice::Get(CUmem_range_attribute attribute, void* data,
                           size_t size) const {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return Store(data, size, is_read_mostly_);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return Store(data, size, Ordinal(preferred_));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return GetAccessedBy(data, size);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return Store(data, size, Ordinal(prefetched_));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return Store(data, size, preferred_.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return Store(data, size, preferred_.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return Store(data, size, prefetched_.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return Store(data, size, prefetched_.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryAdvice::GetAll(void** data, const size_t* sizes,
                              const CUmem_range_attribute* attributes,
                              size_t count) const {
  if (data == nullptr || sizes == nullptr || attributes == nullptr ||
      count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = Get(attributes[i], data[i], sizes[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// Stores a list of devices, filled up with CU_DEVICE_INVALID.
CUresult MemoryAdvice::GetAccessedBy(void* data, size_t size) const {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  int* const list = static_cast<int*>(data);
  const size_t room = size / sizeof(int);
  std::fill_n(list, room, int{CU_DEVICE_INVALID});
  size_t count = 0;
  for (int i = 0; i < 64 && count < room; ++i) {
    if ((accessed_by_devices_ >> i & 1) != 0) list[count++] = i;
  }
  if (is_accessed_by_host_ && count < room) list[count] = CU_DEVICE_CPU;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::cuda
