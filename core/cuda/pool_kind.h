// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_POOL_KIND_H_
#define HOLDFAST_CORE_CUDA_POOL_KIND_H_

#include <optional>

#include "cuda.h"

namespace holdfast::cuda {

// The kind of memory of a CUmemoryPool or of a graph's allocation node. Only
// kDevice memory belongs to a device.
enum class PoolKind { kDevice, kHost, kManaged };

// Returns the kind of memory of this type in this location; nullopt if there is
// no such memory. `device_count` is the number of devices.
std::optional<PoolKind> PoolKindOf(CUmemAllocationType type,
                                   const CUmemLocation& location,
                                   int device_count);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_POOL_KIND_H_
