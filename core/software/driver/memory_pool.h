// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_POOL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/unique_fd.h"
#include "core/cuda/pool_kind.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/backing.h"
#include "core/software/driver/device.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// Returns the kind of the regions of a pool of this kind.
constexpr MemoryKind RegionKindOf(cuda::PoolKind kind) {
  return kind == cuda::PoolKind::kDevice ? MemoryKind::kPool
         : kind == cuda::PoolKind::kHost ? MemoryKind::kHostPool
                                         : MemoryKind::kManaged;
}

// The object behind a CUmemoryPool: blocks for stream-ordered allocation. The
// pool keeps a freed block for the next allocation of the same size, unless the
// pool has reserved more bytes than its release threshold. Thread-safe.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // `kind` is kPool, kHostPool or kManaged. A kHostPool pool does not count as
  // device memory. `max_size` is the limit of the allocated bytes; 0: only the
  // memory of the device limits them. `fd` is a memfd of Block::CreateMemfd; a
  // pool without `fd` cannot be exported. REQUIRES: `device` outlives the pool.
  MemoryPool(Device& device, MemoryKind kind, size_t max_size,
             UniqueFd fd = UniqueFd())
      : device_(device), kind_(kind), max_size_(max_size), fd_(std::move(fd)) {}

  // Returns a pool that stands for another process's pool, whose memfd is `fd`.
  // The application can import pointers from the pool. Allocate fails.
  static std::shared_ptr<MemoryPool> Imported(Device& device, MemoryKind kind,
                                              UniqueFd fd) {
    auto pool = std::make_shared<MemoryPool>(device, kind, 0, std::move(fd));
    pool->imported_ = true;
    return pool;
  }
  bool imported() const { return imported_; }
  Device& device() const { return device_; }
  MemoryKind kind() const { return kind_; }

  // Set or return the access of a device to the pool's memory. For the own
  // device of a kPool pool, GetAccess always returns READWRITE. Otherwise it
  // returns the flags of the last SetAccess for the device, or NONE if there
  // was none. Kernels can access the memory of kHostPool and kManaged pools
  // whatever the flags are.
  void SetAccess(CUdevice device, CUmemAccess_flags flags);
  CUmemAccess_flags GetAccess(CUdevice device) const;
  // Returns the name for the memfd of a pool of this kind. Other processes can
  // see the name. REQUIRES: `kind` is kPool or kHostPool.
  static const char* MemfdName(MemoryKind kind) {
    return kind == MemoryKind::kHostPool ? "holdfast-host-memory-pool"
                                         : "holdfast-memory-pool";
  }
  // Returns the memfd, which the pool owns; -1: there is none.
  int fd() const { return fd_.get(); }
  // Returns the block of an allocation of this pool; null if the pool is
  // imported. REQUIRES: `backing` is from Allocate of this pool.
  const Block* BlockOf(const std::shared_ptr<Backing>& backing) const;

  // Allocates `size` bytes. The backing shares ownership of the pool, and its
  // destructor returns the block to the pool. CUDA_ERROR_OUT_OF_MEMORY: the
  // allocation would exceed max_size, or the device has no memory even after
  // all kept blocks were released. CUDA_ERROR_INVALID_VALUE: the pool is
  // imported.
  CUresult Allocate(size_t size, uintptr_t* address,
                    std::shared_ptr<Backing>* backing);

  // Releases kept blocks until at most `bytes` bytes are reserved or the pool
  // keeps no block.
  void TrimTo(size_t bytes);

  // Get or set an attribute. `value` points to an int or a cuuint64_t,
  // depending on the attribute, as in cuMemPoolGetAttribute. A high-water mark
  // can be set only to 0, which resets the mark to the present value.
  // CUDA_ERROR_INVALID_VALUE: the attribute is unknown; for SetAttribute, it is
  // read-only, or a high-water mark would be set to another value.
  CUresult GetAttribute(CUmemPool_attribute attribute, void* value) const;
  CUresult SetAttribute(CUmemPool_attribute attribute, const void* value);

 private:
  // The Backing of an allocation. Its destructor calls TakeBack.
  class Loan;

  // Takes back the block of an allocation: keeps the block, or frees it if more
  // bytes than the threshold are reserved.
  void TakeBack(std::unique_ptr<Block> block);

  Device& device_;
  const MemoryKind kind_;
  const size_t max_size_;
  const UniqueFd fd_;
  bool imported_ = false;
  mutable Mutex mutex_;
  std::map<CUdevice, CUmemAccess_flags> access_ ABSL_GUARDED_BY(mutex_);
  // The kept blocks, by size.
  std::multimap<size_t, std::unique_ptr<Block>> kept_ ABSL_GUARDED_BY(mutex_);
  // Numbers of bytes.
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reserved_high_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t used_high_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t threshold_ ABSL_GUARDED_BY(mutex_) = 0;
  // The three CU_MEMPOOL_ATTR_REUSE_... switches. They have no effect, because
  // a block counts as free only after its stream has reached the free.
  int reuse_[3] ABSL_GUARDED_BY(mutex_) = {1, 1, 1};
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_POOL_H_
