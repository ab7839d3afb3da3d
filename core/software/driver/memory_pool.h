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
#include "core/software/base/mutex.h"
#include "core/software/driver/backing.h"
#include "core/software/driver/device.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// Blocks for stream-ordered allocation. A freed block is kept for the next
// allocation of its size while the pool holds no more than its release
// threshold. Thread-safe.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // The kind of the memory is kPool, kHostPool or kManaged; kHostPool takes
  // nothing of the device's memory. `max_size` in bytes; 0: no limit but the
  // device's. The device must outlive the pool. With a memfd of
  // Block::CreateMemfd, which becomes the pool's, the pool can be exported.
  MemoryPool(Device& device, MemoryKind kind, size_t max_size,
             UniqueFd fd = UniqueFd())
      : device_(device), kind_(kind), max_size_(max_size), fd_(std::move(fd)) {}

  // Stands for another process's pool: pointers can be imported from it, but
  // nothing allocated.
  static std::shared_ptr<MemoryPool> Imported(Device& device, MemoryKind kind,
                                              UniqueFd fd) {
    auto pool = std::make_shared<MemoryPool>(device, kind, 0, std::move(fd));
    pool->imported_ = true;
    return pool;
  }
  bool imported() const { return imported_; }
  Device& device() const { return device_; }
  MemoryKind kind() const { return kind_; }

  // The access of each device to the pool's memory. The device of a kPool pool
  // always has access; any other device and pool has none until SetAccess. For
  // kHostPool and kManaged the setting has no effect: kernels can always access
  // their memory.
  void SetAccess(CUdevice device, CUmemAccess_flags flags);
  CUmemAccess_flags GetAccess(CUdevice device) const;
  // The name of the memfd of a pool of this kind, kPool or kHostPool, as other
  // processes see it.
  static const char* MemfdName(MemoryKind kind) {
    return kind == MemoryKind::kHostPool ? "holdfast-host-memory-pool"
                                         : "holdfast-memory-pool";
  }
  // Borrowed; -1 if the pool is not shared.
  int fd() const { return fd_.get(); }
  // The block behind an allocation of this pool; null in an imported one.
  const Block* BlockOf(const std::shared_ptr<Backing>& backing) const;

  // The backing owns the block and the pool; dropping it frees the block.
  // CUDA_ERROR_OUT_OF_MEMORY: over max_size, or the device has no more, even
  // after all kept blocks were given back; CUDA_ERROR_INVALID_VALUE: the pool
  // is imported.
  CUresult Allocate(size_t size, uintptr_t* address,
                    std::shared_ptr<Backing>* backing);

  // Gives kept blocks back until at most this many bytes are reserved.
  void TrimTo(size_t bytes);

  // `value` as in cuMemPoolGetAttribute: int or cuuint64_t by attribute.
  // CUDA_ERROR_INVALID_VALUE: no such attribute, or one that cannot be set.
  // High-water marks can be set to 0 only, which begins them anew.
  CUresult GetAttribute(CUmemPool_attribute attribute, void* value) const;
  CUresult SetAttribute(CUmemPool_attribute attribute, const void* value);

 private:
  // A block on loan to an allocation; its end is TakeBack.
  class Loan;

  // Keeps the block, or frees it if the pool holds more than its threshold.
  void TakeBack(std::unique_ptr<Block> block);

  Device& device_;
  const MemoryKind kind_;
  const size_t max_size_;
  const UniqueFd fd_;
  bool imported_ = false;
  mutable Mutex mutex_;
  std::map<CUdevice, CUmemAccess_flags> access_ ABSL_GUARDED_BY(mutex_);
  std::multimap<size_t, std::unique_ptr<Block>> kept_ ABSL_GUARDED_BY(mutex_);
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reserved_high_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t used_high_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t threshold_ ABSL_GUARDED_BY(mutex_) = 0;
  // The three CU_MEMPOOL_ATTR_REUSE_... switches: kept, and without effect,
  // since a block counts as free only once its stream has reached the free.
  int reuse_[3] ABSL_GUARDED_BY(mutex_) = {1, 1, 1};
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_POOL_H_
