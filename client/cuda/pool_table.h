// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_POOL_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_POOL_TABLE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/handle_table.h"
#include "client/cuda/memory_pool.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The program's memory pools by their handles. Each device, the host's memory
// and managed memory have a default pool, which never ends, and a current pool,
// which is a live one. Thread-safe.
class PoolTable {
 public:
  using Kind = MemoryPool::Kind;

  // Makes the default pools, which are also the current pools at first. The
  // devices have the ordinals from 0 to `devices` - 1.
  explicit PoolTable(int devices);

  CUmemoryPool Add(std::shared_ptr<MemoryPool> pool);
  // Returns null if there is no such pool.
  std::shared_ptr<MemoryPool> Find(CUmemoryPool handle) const;
  // Returns null if the pool has ended.
  CUmemoryPool HandleOf(const MemoryPool* pool) const;
  // Ends a pool. If the pool is current, the default pool becomes the current
  // one. Returns false if there is no such pool, or if the pool is a default
  // pool.
  bool Remove(CUmemoryPool handle);

  // Return the default pool and the current pool of a kind. `ordinal` is the
  // device's for kDevice; else it has no meaning. cuMemAllocAsync uses a
  // device's current pool.
  CUmemoryPool Default(Kind kind, int ordinal) const;
  CUmemoryPool Current(Kind kind, int ordinal) const;
  // Makes a pool the current one of its kind and device. Returns false if the
  // pool has ended.
  bool SetCurrent(CUmemoryPool handle);

 private:
  // The place in defaults_ and current_. Devices come first.
  size_t Place(Kind kind, int ordinal) const;
  size_t Place(const MemoryPool& pool) const {
    return Place(pool.kind(), pool.ordinal());
  }

  const size_t devices_;
  HandleTable<CUmemoryPool, MemoryPool> pools_;
  std::vector<CUmemoryPool> defaults_;  // set by the constructor
  mutable absl::Mutex mutex_;
  std::vector<CUmemoryPool> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_POOL_TABLE_H_
