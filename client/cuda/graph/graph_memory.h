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
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The memory of one allocation node. A program is told the address when it adds
// the node, so that the memory is an ordinary buffer from then on, and launches
// only change who may use it. The session has the bytes until the graph, all
// that was instantiated of it, and the program have let go.
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

  // A second node that frees it is refused. Guarded by the lock of definitions.
  bool has_free_node = false;

 private:
  friend class GraphMemory;

  const std::shared_ptr<Allocation> memory_;
  // A launch has allocated it, and nothing has freed it since. Guarded by
  // GraphMemory's lock.
  bool is_outstanding_ = false;
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

  // Waits for the daemon to tell the address. CUDA_ERROR_INVALID_VALUE: 0
  // bytes.
  CUresult Create(Process& process, int ordinal, size_t size,
                  std::shared_ptr<GraphAllocation>* allocation);
  // Returns the allocation that begins at the address; null: there is none.
  std::shared_ptr<GraphAllocation> Find(uint64_t address) const;

  // CUDA_ERROR_INVALID_VALUE: an allocation of an earlier launch has not been
  // freed, unless `auto_free`, or one to be freed is not there.
  CUresult Begin(const LaunchAllocations& allocations, bool auto_free);
  // cuMemFree, cuMemFreeAsync. CUDA_ERROR_INVALID_VALUE: no launch has
  // allocated it.
  CUresult Free(GraphAllocation& allocation);

  // Bytes: "used" is what launches have allocated and nothing has freed,
  // "reserved" is what the session has.
  CUresult GetAttribute(int ordinal, CUgraphMem_attribute attribute,
                        cuuint64_t* value) const;
  // Sets a high-water mark back to the present; other values are refused.
  CUresult SetAttribute(int ordinal, CUgraphMem_attribute attribute,
                        cuuint64_t value);

 private:
  friend class GraphAllocation;

  struct Account {
    uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  };

  void Forget(const GraphAllocation& allocation);
  void Take(const std::shared_ptr<GraphAllocation>& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the reference that kept the allocation, to be dropped without the
  // lock.
  std::shared_ptr<GraphAllocation> Return(GraphAllocation& allocation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<GraphAllocation>> all_
      ABSL_GUARDED_BY(mutex_);
  // Keeps what a graph has left to others, even if the graph has gone.
  std::map<uint64_t, std::shared_ptr<GraphAllocation>> outstanding_
      ABSL_GUARDED_BY(mutex_);
  std::map<int, Account> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_MEMORY_H_
