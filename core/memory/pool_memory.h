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

// An allocation of another process's memory pool: what cuda.core's
// IPCBufferDescriptor names. Immutable; thread-safe.
//
// Importing it takes two steps in CUDA, of which the pool's is repeated for
// each allocation here, so that their ends are independent.
class PoolMemory {
 public:
  // `pool` is of cuMemPoolExportToShareableHandle, `data` of
  // cuMemPoolExportPointer; both may be anything, and what the driver does not
  // take is its error. `pool` may be closed at once: this takes it over.
  // UNIMPLEMENTED: the driver lacks the functions of pools.
  static absl::StatusOr<std::unique_ptr<PoolMemory>> Import(
      std::shared_ptr<const cuda::Context> context, UniqueFd pool,
      const CUmemPoolPtrExportData& data);
  // REQUIRES: no device uses it any more. cuMemFree, which drops the import and
  // leaves the maker's memory as it is; then the pool.
  ~PoolMemory();
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  // Bytes from there to the end of the allocation.
  uint64_t size() const { return size_; }

 private:
  PoolMemory(std::shared_ptr<const cuda::Context> context, CUmemoryPool pool)
      : context_(std::move(context)), pool_(pool) {}

  const std::shared_ptr<const cuda::Context> context_;
  const CUmemoryPool pool_;
  CUdeviceptr address_ = 0;
  uint64_t size_ = 0;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_POOL_MEMORY_H_
