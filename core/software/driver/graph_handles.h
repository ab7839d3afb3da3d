// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_HANDLES_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_HANDLES_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/user_object.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/handle_table.h"
#include "cuda.h"

namespace holdfast::software {

struct Capture;
class Graph;
class GraphExec;
struct GraphNode;

// The tables of the application's graphs, nodes and instantiated graphs. One
// lock, the lock of definitions, guards all definitions with their nodes:
// definitions change rarely, and one call may name nodes of several graphs.
struct GraphHandles {
  Mutex mutex;  // the lock of definitions
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, GraphNode> nodes;
  // The captures that have not ended. `capturing` is their number, which is
  // read without the lock.
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<int> capturing{0};
  // The references that the application itself has, not those of graphs.
  cuda::UserReferences user_objects;
  // Instantiated graphs have locks of their own.
  HandleTable<CUgraphExec, GraphExec> execs;
};

// Holds the lock of definitions while it lives. Destructors of user objects run
// on the same thread after the release of the lock.
class ABSL_SCOPED_LOCKABLE DefinitionsLock {
 public:
  explicit DefinitionsLock(GraphHandles& handles)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(handles.mutex)
      : lock_(&handles.mutex) {}
  ~DefinitionsLock() ABSL_UNLOCK_FUNCTION() = default;

 private:
  cuda::DelayedDestructors destructors_;
  MutexLock lock_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_HANDLES_H_
