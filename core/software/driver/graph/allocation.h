// SPDX-License-Identifier: Apache-2.0
//
// The memory of the allocation nodes of graphs.
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
// added. It counts as used memory of the device from the node's first launch
// until a trim; host memory never counts. GraphMemory makes the object and
// manages its state.
class GraphAllocation {
 public:
  // `kind` is the kind of the memory's region in `map`.
  GraphAllocation(Device& device, MemoryKind kind, MemoryMap& map,
                  std::unique_ptr<Block> block);
  ~GraphAllocation();
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;

  Device& device() const { return device_; }
  uintptr_t address() const { return block_->address(); }
  size_t size() const { return block_->size(); }

  // True if a node frees the memory. Only one node, in this or another graph,
  // may do that. Guarded by the lock of graph definitions
  // (GraphHandles::mutex).
  bool has_free_node = false;

 private:
  friend class GraphMemory;

  Device& device_;
  const MemoryKind kind_;
  MemoryMap& map_;
  const std::unique_ptr<Block> block_;
  // The following members are guarded by GraphMemory's lock.
  bool reserved_ = false;     // taken from the device's budget
  bool outstanding_ = false;  // allocated by a launch, and not freed yet
  Ticket last_use_;
};

// The effect of one launch of a graph on allocations. As CUDA's rules require,
// it applies when the graph is launched, not when the nodes run. The bytes stay
// mapped in any case.
struct GraphAllocations {
  using List = std::vector<std::shared_ptr<GraphAllocation>>;
  List kept;       // allocated by this graph, and not freed by it
  List temporary;  // allocated and freed by this graph
  List freed;      // freed by this graph, and allocated by another one

  bool empty() const {
    return kept.empty() && temporary.empty() && freed.empty();
  }
};

// All allocations of graphs in this process, and their memory by device.
// Thread-safe.
class GraphMemory {
 public:
  // Returns the only instance, which is never destroyed.
  static GraphMemory& Get();

  // Makes an allocation and its region in `map`. `kind` is kGraph for device
  // memory, kManaged or kHostPool. The memory does not count as used memory of
  // the device yet. CUDA_ERROR_INVALID_VALUE: `size` is 0.
  // CUDA_ERROR_OUT_OF_MEMORY: `size` is more than the whole device has, or
  // there are no addresses.
  CUresult Create(Device& device, MemoryKind kind, MemoryMap& map, size_t size,
                  std::shared_ptr<GraphAllocation>* allocation);
  // Returns the allocation that starts at this address; null if there is none.
  std::shared_ptr<GraphAllocation> Find(uintptr_t address);

  // Applies the effect of a launch. `auto_free`: the launch frees the
  // allocations of the last launch. CUDA_ERROR_INVALID_VALUE: an allocation of
  // the last launch was not freed and `auto_free` is false, or an allocation in
  // `freed` is not allocated. CUDA_ERROR_OUT_OF_MEMORY: the device is full.
  CUresult Begin(const GraphAllocations& allocations, bool auto_free);
  // Records that the launch uses its allocations until `end`. Called after
  // Begin.
  void Use(const GraphAllocations& allocations, const Ticket& end);

  // Implements cuMemFree and cuMemFreeAsync for an allocation.
  // CUDA_ERROR_INVALID_VALUE: no launch has allocated it, or it has been freed.
  CUresult Free(GraphAllocation& allocation);

  // Implements cuDeviceGraphMemTrim: frees the memory of all allocations of the
  // device that are freed and that no launch uses, and of destroyed graphs.
  // Allocations keep their addresses.
  void Trim(Device& device);
  // Sets *value to a number of bytes. Memory counts as "used" and as "reserved"
  // from the first launch until a trim. As on a GPU, neither a free nor the
  // destruction of the graph changes that. CUDA_ERROR_INVALID_VALUE: there is
  // no such attribute.
  CUresult GetAttribute(Device& device, CUgraphMem_attribute attribute,
                        cuuint64_t* value);
  // Resets a high-water mark to the current value. CUDA_ERROR_INVALID_VALUE:
  // the attribute is not a high-water mark, or `value` is not 0.
  CUresult SetAttribute(Device& device, CUgraphMem_attribute attribute,
                        cuuint64_t value);

 private:
  friend class GraphAllocation;

  // The memory of graphs on one device, in bytes.
  struct Account {
    uint64_t reserved = 0;  // taken from the device's budget
    uint64_t idle = 0;      // the part of `reserved` that no allocation has
    uint64_t used_high = 0, reserved_high = 0;
  };

  // Removes an allocation that is destroyed. Its memory stays reserved, for
  // later allocations.
  void Forget(GraphAllocation& allocation);
  // Takes the bytes of the allocation from idle memory and the device's budget,
  // unless it is host memory or has them. CUDA_ERROR_OUT_OF_MEMORY: the budget
  // has too few.
  CUresult ReserveLocked(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reserves the allocations of a launch, and raises the high-water marks.
  // After an error, none of them has memory that it did not have before.
  CUresult ReserveAllLocked(const GraphAllocations& allocations)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees the pages of the allocation, and returns its bytes to the device's
  // budget.
  void ReleaseLocked(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<GraphAllocation>> all_
      ABSL_GUARDED_BY(mutex_);
  // The allocations that launches have allocated and that are not freed. They
  // are kept alive here, because their graph may be destroyed.
  std::map<uintptr_t, std::shared_ptr<GraphAllocation>> outstanding_
      ABSL_GUARDED_BY(mutex_);
  std::map<CUdevice, Account> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_ALLOCATION_H_
