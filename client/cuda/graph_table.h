// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_TABLE_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/handle_table.h"
#include "core/cuda/user_object.h"
#include "cuda.h"

namespace holdfast::libcuda {

struct Capture;
class Graph;
class GraphExec;
struct Node;

// The graphs of the program. One lock guards all definitions with their nodes,
// and all captures, since one call may name nodes of several graphs.
// Instantiated graphs have locks of their own, which are taken before this one.
struct GraphTable {
  absl::Mutex mutex;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, Node> nodes;
  HandleTable<CUgraphExec, GraphExec> execs;
  // Captures that have not ended, and their number, which is read without the
  // lock.
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<size_t> capturing{0};
  cuda::UserReferences user_objects;  // of the program itself
};

// Holds the lock of definitions. Destructors of user objects run after it.
class ABSL_SCOPED_LOCKABLE DefinitionsLock {
 public:
  explicit DefinitionsLock(GraphTable& table)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(table.mutex)
      : lock_(&table.mutex) {}
  ~DefinitionsLock() ABSL_UNLOCK_FUNCTION() = default;

 private:
  cuda::DelayedDestructors destructors_;
  absl::MutexLock lock_;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_TABLE_H_
