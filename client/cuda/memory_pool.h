// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_MEMORY_POOL_H_
#define HOLDFAST_CLIENT_CUDA_MEMORY_POOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/pinned_memory.h"
#include "core/cuda/pool_kind.h"
#include "cuda.h"

namespace holdfast::libcuda {

// A pool that can be exported has a name of kTokenBytes random bytes, which
// identifies the pool in other processes.
struct PoolSharing {
  std::string name;          // empty: it is not shared
  bool is_imported = false;  // stands for the pool of another process
  // The memory of a shared kHost pool; null for a kDevice pool, whose memory is
  // shared by the daemon.
  std::unique_ptr<PinnedMemory> pinned;
};

// A CUmemoryPool: an account of memory, and settings that a program reads back.
// The memory itself comes from the daemon's pools, which keep freed memory.
// Therefore a pool of a program reserves no more memory than the program uses.
// Thread-safe.
class MemoryPool {
 public:
  // The memory of kHost and kManaged pools is pinned memory of this process,
  // which kernels reach on the daemon's machine.
  using Kind = cuda::PoolKind;

  // `ordinal` is the program's number of a kDevice pool's device, otherwise 0.
  // `max_size` bounds the allocated bytes; 0: nothing bounds them.
  MemoryPool(Kind kind, int ordinal, uint64_t max_size = 0,
             PoolSharing sharing = {})
      : kind_(kind),
        ordinal_(ordinal),
        max_size_(max_size),
        sharing_(std::move(sharing)) {}

  Kind kind() const { return kind_; }
  int ordinal() const { return ordinal_; }
  const PoolSharing& sharing() const { return sharing_; }
  // Get and set the access of a device, as cuMemPoolGetAccess and
  // cuMemPoolSetAccess do. A kDevice pool's own device always has access; no
  // other device has it before SetAccess. The setting has no other effect: all
  // devices of the session that have peer access can use the memory, and
  // kernels can always use pinned memory.
  bool HasAccess(int ordinal) const;
  void SetAccess(int ordinal, bool has_access);
  // Counts bytes as allocated, until Return. Returns false, and counts nothing,
  // if more than max_size would be allocated.
  bool Take(uint64_t bytes);
  void Return(uint64_t bytes);

  // cuMemPoolGetAttribute, cuMemPoolSetAttribute. `value` points to an int or a
  // cuuint64_t, depending on the attribute. CUDA_ERROR_INVALID_VALUE: the
  // attribute is unknown, is read-only, or cannot have this value.
  CUresult Get(CUmemPool_attribute attribute, void* value) const;
  CUresult Set(CUmemPool_attribute attribute, const void* value);

 private:
  const Kind kind_;
  const int ordinal_;
  const uint64_t max_size_;
  const PoolSharing sharing_;
  mutable absl::Mutex mutex_;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t most_used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int, bool> access_ ABSL_GUARDED_BY(mutex_);
  uint64_t release_threshold_ ABSL_GUARDED_BY(mutex_) = 0;
  // The permissions to reuse memory, which are all given at first.
  std::map<CUmemPool_attribute, int> reuse_ ABSL_GUARDED_BY(mutex_) = {
      {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1}};
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_MEMORY_POOL_H_
