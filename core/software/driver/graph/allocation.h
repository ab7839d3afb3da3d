// SPDX-License-Identifier: Apache-2.0
//
// Memory that graphs allocate and free while they run.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_ALLOCATION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_ALLOCATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/backing.h"
#include "core/software/driver/device.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// The memory of one allocation node. Its address is fixed when the node is
// added. It is charged to the device's memory from its first launch until it is
// trimmed; host memory is never charged. GraphMemory makes a GraphAllocation
// and manages its state.
class GraphAllocation {
 public:
  // `kind` is the kind of its region.
  GraphAllocation(Device& device, MemoryKind kind, MemoryMap& map,
                  std::unique_ptr<Block> block);
  ~GraphAllocation();
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;

  Device& device() const { return device_; }
  uintptr_t address() const { return block_->address(); }
  size_t size() const { return block_->size(); }

  // True if a node frees the memory. A second such node, in this or another
  // graph, is refused. Guarded by the lock of all graph definitions.
  bool has_free_node = false;

 private:
  friend class GraphMemory;

  Device& device_;
  const MemoryKind kind_;
  MemoryMap& map_;
  const std::unique_ptr<Block> block_;
  // The rest is guarded by GraphMemory's lock.
  bool reserved_ = false;     // taken from the device's budget
  bool outstanding_ = false;  // allocated by a launch, and not freed yet
  Ticket last_use_;
};

// The effect of one launch on allocations. It applies at the launch call, as
// CUDA's rules require, not when the nodes run; the bytes stay mapped.
struct GraphAllocations {
  using List = std::vector<std::shared_ptr<GraphAllocation>>;
  List kept;       // allocated, and not freed by this graph
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

  // `kind` is kGraph for device memory, kManaged or kHostPool.
  // CUDA_ERROR_INVALID_VALUE: 0 bytes. CUDA_ERROR_OUT_OF_MEMORY: more than the
  // device has, or no addresses are left. Nothing is charged to the device yet.
  CUresult Create(Device& device, MemoryKind kind, MemoryMap& map, size_t size,
                  std::shared_ptr<GraphAllocation>* allocation);
  // Returns the allocation that starts at this address; null if there is none.
  std::shared_ptr<GraphAllocation> Find(uintptr_t address);

  // Applies a launch. Returns CUDA_ERROR_INVALID_VALUE if an allocation of the
  // last launch has not been freed, unless `auto_free` is set, or if an
  // allocation to free is not allocated; CUDA_ERROR_OUT_OF_MEMORY if the device
  // is full.
  CUresult Begin(const GraphAllocations& allocations, bool auto_free);
  // Sets the end of the launch. Its memory is in use until then.
  void Use(const GraphAllocations& allocations, const Ticket& end);

  // Implements cuMemFree and cuMemFreeAsync. CUDA_ERROR_INVALID_VALUE: no
  // launch has allocated it, or it has been freed.
  CUresult Free(GraphAllocation& allocation);

  // Implements cuDeviceGraphMemTrim: returns the memory of all allocations that
  // are freed and in use by no launch, and of graphs that are gone. Allocations
  // keep their addresses.
  void Trim(Device& device);
  // Gets a number of bytes. Memory is both "used" and "reserved" from the first
  // launch until it is trimmed. As on a GPU, neither a free nor the end of the
  // graph changes that.
  CUresult GetAttribute(Device& device, CUgraphMem_attribute attribute,
                        cuuint64_t* value);
  // Resets a high-water mark to the current value. CUDA_ERROR_INVALID_VALUE:
  // another attribute, or `value` is not 0.
  CUresult SetAttribute(Device& device, CUgraphMem_attribute attribute,
                        cuuint64_t value);

 private:
  friend class GraphAllocation;

  // The memory of graphs on one device, in bytes.
  struct Account {
    uint64_t reserved = 0;  // charged to the device
    uint64_t idle = 0;      // the reserved bytes that no allocation has now
    uint64_t used_high = 0, reserved_high = 0;
  };

  // Forgets an allocation. The charge of its memory stays, for later
  // allocations.
  void Forget(GraphAllocation& allocation);
  CUresult ReserveLocked(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Discards the bytes and returns them to the device's budget.
  void ReleaseLocked(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<GraphAllocation>> all_
      ABSL_GUARDED_BY(mutex_);
  // Allocated and not freed yet; kept here because the graph may be destroyed.
  std::map<uintptr_t, std::shared_ptr<GraphAllocation>> outstanding_
      ABSL_GUARDED_BY(mutex_);
  std::map<CUdevice, Account> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_ALLOCATION_H_
