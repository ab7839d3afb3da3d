// SPDX-License-Identifier: Apache-2.0
//
// The memory of the program's session by address.
#ifndef HOLDFAST_CLIENT_CUDA_MEMORY_MAP_H_
#define HOLDFAST_CLIENT_CUDA_MEMORY_MAP_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/buffer.h"
#include "client/cpp/place.h"
#include "client/cpp/transfer/arena.h"
#include "client/cuda/exported.h"
#include "client/cuda/memory_pool.h"
#include "core/cuda/memory_advice.h"

namespace holdfast::libcuda {

// One piece of memory: a buffer of the session, a variable of a module, or
// pinned memory of this process. Pinned memory is a span of an arena, at the
// same address in this process and in kernels. If the daemon is on another
// machine, pinned memory is ordinary memory, which copies can use and kernels
// cannot.
struct Allocation {
  Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  // True if commands can name the memory; false for ordinary memory of this
  // process.
  bool has_place() const { return buffer.has_value() || span.has_value(); }
  // REQUIRES: has_place().
  Place At(uint64_t offset) const {
    return buffer.has_value() ? Place(*buffer, offset) : Place(*span, offset);
  }
  bool is_host() const { return !buffer.has_value(); }
  // True for memory of cuMemPoolImportPointer. Ipc counts its imports.
  bool is_pool_import() const { return is_borrowed && pool != nullptr; }

  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t id = 0;  // never used twice
  uint64_t context_id = 0;
  void* context = nullptr;  // CUcontext
  int ordinal = 0;          // the program's number of the device
  unsigned flags = 0;       // CU_MEMHOSTALLOC_...
  // The program allocated this pinned memory with cuMemAllocManaged.
  bool is_managed = false;
  cuda::MemoryAdvice advice;  // of managed memory
  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, which changes nothing: synchronous copies
  // are synchronous always.
  std::atomic<bool> has_sync_memops{false};
  // Ordinary memory that the program has registered and frees itself.
  bool is_registered = false;
  // Memory of another process, or at reserved addresses: cuMemFree does not end
  // it.
  bool is_borrowed = false;
  // A node of a graph allocates the memory, and GraphMemory frees it.
  bool is_of_graph = false;
  // The pool that counts these bytes until the destructor; null: no pool counts
  // them.
  std::shared_ptr<MemoryPool> pool;
  // The module whose variable this memory is, and with which the memory ends;
  // null: the memory is no variable.
  const void* module = nullptr;
  std::optional<Buffer> buffer;
  Exported exported;  // of the buffer
  std::optional<ArenaSpan> span;
  // The mapping of ordinary memory, which the destructor unmaps.
  void* mapped = nullptr;
};

// The allocations of the program's session. Thread-safe.
class MemoryMap {
 public:
  void Add(std::shared_ptr<Allocation> allocation);
  // Returns the allocation that has the byte at `address`; null: none.
  std::shared_ptr<Allocation> Find(uint64_t address) const;
  // Returns and forgets the allocation that begins at `address` and that
  // `accepts` accepts; null: there is none.
  std::shared_ptr<Allocation> Remove(
      uint64_t address, absl::FunctionRef<bool(const Allocation&)> accepts);
  // Returns and forgets all allocations that `ended` accepts.
  std::vector<std::shared_ptr<Allocation>> RemoveIf(
      absl::FunctionRef<bool(const Allocation&)> ended);

 private:
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Allocation>> allocations_
      ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_MEMORY_MAP_H_
