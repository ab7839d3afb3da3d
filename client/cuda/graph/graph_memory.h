// SPDX-License-Identifier: Apache-2.0
//
// Memory that graphs allocate and free.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_MEMORY_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/memory_pool.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The memory of one allocation node. The program gets the address when it adds
// the node, so the memory is an ordinary buffer, or pinned memory, from then
// on; a launch only marks it as allocated or freed. The session keeps the bytes
// until the graph and its executable graphs are destroyed, and the program has
// freed the memory.
class GraphAllocation {
 public:
  explicit GraphAllocation(std::shared_ptr<Allocation> memory)
      : memory_(std::move(memory)) {}
  ~GraphAllocation();
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;

  uint64_t address() const { return memory_->address; }
  uint64_t size() const { return memory_->size; }
  int ordinal() const { return memory_->ordinal; }
  // True for pinned memory, which includes managed memory. The daemon does not
  // order its end with streams: the last reference must not be dropped before
  // the work that uses it has ended.
  bool is_pinned() const { return memory_->is_host(); }

  // A node frees this memory, so that another such node is refused. Guarded by
  // the lock of definitions.
  bool has_free_node = false;

 private:
  friend class GraphMemory;

  const std::shared_ptr<Allocation> memory_;
  // Guarded by GraphMemory's lock.
  bool is_outstanding_ = false;  // a launch allocated it, and nothing freed it
  bool is_used_ = false;         // a launch allocated it since the last trim
};

// The effect of a launch on allocations, in the order of calls.
struct LaunchAllocations {
  using List = std::vector<std::shared_ptr<GraphAllocation>>;
  List kept;       // allocated, and left to others to free
  List temporary;  // allocated and freed
  List freed;      // allocated by another graph

  bool empty() const {
    return kept.empty() && temporary.empty() && freed.empty();
  }
};

// All allocations of graphs, and their accounts by device. Thread-safe.
class GraphMemory {
 public:
  static GraphMemory& Get();

  // Allocates memory of the device with this ordinal, or pinned memory. Blocks
  // until the daemon has sent the address. Before it allocates device memory,
  // frees idle memory of the device: at least `size` bytes, or all of it.
  // CUDA_ERROR_INVALID_VALUE: `size` is 0. CUDA_ERROR_NOT_SUPPORTED: pinned
  // memory, and the daemon is on another machine.
  CUresult Create(Process& process, MemoryPool::Kind kind, int ordinal,
                  size_t size, std::shared_ptr<GraphAllocation>* allocation);
  // Returns the allocation that begins at the address; null: there is none.
  std::shared_ptr<GraphAllocation> Find(uint64_t address) const;

  // Notes the allocations of a launch that begins. With `auto_free`, frees its
  // allocations of an earlier launch first. CUDA_ERROR_INVALID_VALUE: such an
  // allocation exists without `auto_free`, or an allocation to be freed is not
  // outstanding.
  CUresult Begin(const LaunchAllocations& allocations, bool auto_free);
  // Frees an allocation for cuMemFree and cuMemFreeAsync.
  // CUDA_ERROR_INVALID_VALUE: no launch has allocated it, or it is free
  // already.
  CUresult Free(GraphAllocation& allocation);

  // Implements cuDeviceGraphMemTrim: returns the idle memory of the device.
  void Trim(int ordinal);

  // Sets *value to a number of bytes of device memory. All memory of allocation
  // nodes is "reserved". Memory is also "used" from a launch until it is
  // trimmed; as on a GPU, a free does not change that. If the graph ends before
  // the trim, the memory is idle, and the session still has it.
  CUresult GetAttribute(int ordinal, CUgraphMem_attribute attribute,
                        cuuint64_t* value) const;
  // Resets a high-water mark to the present value. CUDA_ERROR_INVALID_VALUE:
  // `value` is not 0, or the attribute is no high-water mark.
  CUresult SetAttribute(int ordinal, CUgraphMem_attribute attribute,
                        cuuint64_t value);

 private:
  friend class GraphAllocation;

  using Memory = std::vector<std::shared_ptr<Allocation>>;

  struct Account {
    uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
    Memory idle;
  };

  void Forget(const GraphAllocation& allocation);
  // Takes idle memory of at least this many bytes, or all of it, to be dropped
  // without the lock.
  Memory TakeIdle(Account& account, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Use(GraphAllocation& allocation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const std::shared_ptr<GraphAllocation>& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the reference that kept the allocation, to be dropped without the
  // lock.
  std::shared_ptr<GraphAllocation> Return(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<GraphAllocation>> all_
      ABSL_GUARDED_BY(mutex_);
  // The allocations that launches made and nothing has freed. Keeps them alive
  // after their graph is destroyed.
  std::map<uint64_t, std::shared_ptr<GraphAllocation>> outstanding_
      ABSL_GUARDED_BY(mutex_);
  std::map<int, Account> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_MEMORY_H_
