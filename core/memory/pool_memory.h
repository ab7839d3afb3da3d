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

// An imported allocation of another process's memory pool; cuda.core's
// IPCBufferDescriptor names such an allocation. Immutable; thread-safe.
//
// CUDA imports the pool first and then the allocation. Each PoolMemory imports
// the pool again, so that allocations can be released independently.
//
// If an allocation is imported twice, NVIDIA's driver may map it twice at the
// same address, and unmaps that address at the first cuMemFree. So only the
// last PoolMemory at an address calls cuMemFree.
class PoolMemory {
 public:
  // Imports the allocation. `pool` is a result of
  // cuMemPoolExportToShareableHandle, and `data` of cuMemPoolExportPointer.
  // Both are untrusted: fails as the driver does if they are invalid. Takes
  // ownership of `pool`. UNIMPLEMENTED: the driver lacks the functions of
  // pools.
  static absl::StatusOr<std::unique_ptr<PoolMemory>> Import(
      std::shared_ptr<const cuda::Context> context, UniqueFd pool,
      const CUmemPoolPtrExportData& data);
  // Releases the import. If no other PoolMemory has the address, unmaps the
  // memory by cuMemFree, and then destroys all imports of the pool for this
  // address. The memory of the other process stays. REQUIRES: no device uses
  // the memory any more.
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
