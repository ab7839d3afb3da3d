// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_POOL_MEMORY_H_
#define HOLDFAST_CORE_MEMORY_POOL_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::memory {

// An allocation of another process's memory pool, as named by cuda.core's
// IPCBufferDescriptor. Immutable; thread-safe.
//
// CUDA imports the pool first and then the allocation. Each PoolMemory imports
// the pool again, so that allocations can be released independently.
//
// NVIDIA's driver may map an allocation that is imported twice at one address,
// and unmaps the address at the first cuMemFree. So the memory is freed when
// the last PoolMemory at its address is destroyed.
class PoolMemory {
 public:
  // `pool` comes from cuMemPoolExportToShareableHandle, and `data` from
  // cuMemPoolExportPointer. Both are untrusted, and the driver refuses invalid
  // ones. Takes ownership of `pool`. UNIMPLEMENTED: the driver lacks the
  // functions of pools.
  static absl::StatusOr<std::unique_ptr<PoolMemory>> Import(
      std::shared_ptr<const cuda::Context> context, UniqueFd pool,
      const CUmemPoolPtrExportData& data);
  // Drops the import by cuMemFree, and then the pool; the exporter's memory
  // stays. The last PoolMemory at an address does both for all PoolMemory
  // objects at the address. REQUIRES: no device uses the memory any more.
  ~PoolMemory();
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  // The bytes from address() to the end of the allocation.
  uint64_t size() const { return size_; }

 private:
  PoolMemory(std::shared_ptr<const cuda::Context> context, CUdeviceptr address)
      : context_(std::move(context)), address_(address) {}

  const std::shared_ptr<const cuda::Context> context_;
  const CUdeviceptr address_;
  uint64_t size_ = 0;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_POOL_MEMORY_H_
