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

// The graphs that the application knows. One lock guards all definitions, with
// their nodes: they are edited rarely, and one call may name nodes of several.
struct GraphHandles {
  Mutex mutex;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, GraphNode> nodes;
  // Captures that have not ended, and their number, which is read without lock.
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<int> capturing{0};
  cuda::UserReferences user_objects;  // of the application itself
  // Instantiated graphs have locks of their own.
  HandleTable<CUgraphExec, GraphExec> execs;
};

// Holds the lock of definitions. Destructors of user objects run after its
// release.
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
