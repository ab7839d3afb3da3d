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

// Makes the buffers of a definition's GraphAllocation nodes while its graph is
// built.
//
// CUDA takes such memory from a pool of the driver at each launch. That memory
// ends with the process, and no other process can map it. Here the memory comes
// from the session's own memory when the graph is made: its address never
// changes, a launch allocates nothing, and the memory survives a fault. The
// nodes themselves are empty, and only keep their place in the order.
class GraphAllocations {
 public:
  explicit GraphAllocations(Resources& resources) : resources_(resources) {}
  GraphAllocations(const GraphAllocations&) = delete;
  GraphAllocations& operator=(const GraphAllocations&) = delete;

  // Makes the node's buffer. FAILED_PRECONDITION: a device of the node's
  // `accessible_from` has no access to the memory of the buffer's device.
  // Otherwise fails as the command AllocateBuffer.
  absl::Status Make(const v1::GraphAllocation& node);

  // Checks a node that frees a buffer. The memory stays until the client frees
  // the buffer itself. INVALID_ARGUMENT: an earlier node of this definition
  // frees the buffer. NOT_FOUND: there is no such buffer.
  absl::Status Free(const v1::GraphFree& node);

  // Frees the buffers of a graph that could not be built, and leaves their
  // handles in the error `cause`.
  void Abandon(const absl::Status& cause);

  // Returns true if a buffer was made.
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
