// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_ALLOCATIONS_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_ALLOCATIONS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// The buffers of a definition's GraphAllocations, while its graph is built.
//
// CUDA takes such memory from a pool of the driver at each launch. That memory
// ends with the process, and no other process can map it. Here it comes from
// the session's own memory when the graph is made: its address never changes, a
// launch allocates nothing, and it survives a fault. The nodes do nothing but
// keep their place in the order.
class GraphAllocations {
 public:
  explicit GraphAllocations(Resources& resources) : resources_(resources) {}
  GraphAllocations(const GraphAllocations&) = delete;
  GraphAllocations& operator=(const GraphAllocations&) = delete;

  // Makes the node's buffer. FAILED_PRECONDITION: a device of `accessible_from`
  // has no access to the buffer's; otherwise as AllocateBuffer.
  absl::Status Make(const v1::GraphAllocation& node);

  // INVALID_ARGUMENT: the buffer was freed by an earlier node of this
  // definition. NOT_FOUND: there is no such buffer.
  absl::Status Free(const v1::GraphFree& node);

  // Frees the buffers of a graph that could not be built, and leaves their
  // handles in error.
  void Abandon(const absl::Status& cause);

  bool any() const { return !made_.empty(); }

 private:
  absl::Status CheckAccess(const v1::GraphAllocation& node) const;
  absl::StatusOr<BufferResource> Allocate(const v1::GraphAllocation& node);

  Resources& resources_;
  std::vector<uint64_t> made_;  // handles
  absl::flat_hash_set<uint64_t> freed_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_ALLOCATIONS_H_
