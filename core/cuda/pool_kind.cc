// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/pool_kind.h"

namespace holdfast::cuda {

std::optional<PoolKind> PoolKindOf(CUmemAllocationType type,
                                   const CUmemLocation& location,
                                   int device_count) {
  const bool is_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                         location.id >= 0 && location.id < device_count;
  const bool is_host = location.type == CU_MEM_LOCATION_TYPE_HOST ||
                       location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                       location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  if (type == CU_MEM_ALLOCATION_TYPE_PINNED) {
    if (is_device) return PoolKind::kDevice;
    if (is_host) return PoolKind::kHost;
  }
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED &&
      (is_device || is_host || location.type == CU_MEM_LOCATION_TYPE_NONE)) {
    return PoolKind::kManaged;
  }
  return std::nullopt;
}

}  // namespace holdfast::cuda
