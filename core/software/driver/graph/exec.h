// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_EXEC_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_EXEC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/graph_pairing.h"
#include "core/cuda/user_object.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/graph/program.h"
#include "core/software/driver/graph/step.h"
#include "core/software/driver/graph/update.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// The reason why a graph could not be instantiated.
struct InstantiationError {
  CUresult result = CUDA_SUCCESS;
  // The node of the application's graph that is to blame; null: none.
  CUgraphNode node = nullptr;
  // True if a condition of the graph has no conditional node.
  bool unused_condition = false;
};

// The object behind a CUgraphExec: a copy of a definition, and the program made
// of it. Changes apply to later launches only. Thread-safe.
class GraphExec {
 public:
  // Instantiates `definition`, a copy of the application's graph that only this
  // object uses. Returns null, and the reason in *error, on failure. `memory`
  // must outlive the result.
  static std::shared_ptr<GraphExec> Create(std::shared_ptr<Graph> definition,
                                           const MemoryMap& memory,
                                           cuuint64_t flags,
                                           InstantiationError* error);

  cuuint64_t flags() const { return flags_; }

  // Enqueues one run after the stream's work and after earlier launches. Fails
  // as GraphMemory::Begin does. CUDA_ERROR_OUT_OF_MEMORY: the system allows no
  // thread.
  CUresult Launch(Stream& stream);

  // The calls below name a node by its handle in the application's graph, and
  // return CUDA_ERROR_INVALID_VALUE if the definition has no copy of the node.
  // On an error nothing has changed.

  // Replaces the work of a node. Also returns CUDA_ERROR_INVALID_VALUE for a
  // change that CUDA does not allow. Fails as MakeStep for work that cannot be
  // launched.
  CUresult SetWork(CUgraphNode node, NodeWork work);
  // Set or get whether later launches run the node. Also return
  // CUDA_ERROR_INVALID_VALUE for a node that is not a kernel, copy or fill.
  CUresult SetEnabled(CUgraphNode node, bool enabled);
  CUresult GetEnabled(CUgraphNode node, bool* enabled);
  // Updates the nodes of a child node's graph from `graph`.
  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: `graph` has another topology, or CUDA
  // does not allow a change.
  CUresult SetChild(CUgraphNode node, const Graph& graph);

  // Implements cuGraphExecUpdate: updates all nodes, or none. The user objects
  // of `graph` replace the user objects of the definition.
  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: *info has the reason.
  CUresult Update(const Graph& graph, CUgraphExecUpdateResultInfo* info);

 private:
  using NodePair = cuda::NodePair<GraphNode>;
  // The user objects that the definition and its inner graphs retain, by graph.
  using Objects = std::map<const Graph*, cuda::UserReferences>;

  GraphExec(std::shared_ptr<Graph> definition, const MemoryMap& memory,
            cuuint64_t flags);

  // Finds a node by its handle in the application's graph; null: not found.
  GraphNode* FindLocked(CUgraphNode origin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replaces the program by a copy if a launch uses it, so that the program can
  // be changed. Fails as Program::Build.
  CUresult MakeWritableLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Builds a new program from the definition. On an error the old program, its
  // index, its conditions and its allocations stay.
  CUresult RebuildLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the program's entry of a node of the definition. REQUIRES:
  // MakeWritableLocked was called if the caller changes the entry.
  Program::Entry& EntryLocked(const GraphNode* node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends the conditions and allocations of a graph and of its inner graphs.
  void CollectLocked(const Graph& graph) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the objects of a graph and of its inner graphs to *objects.
  static void TakeObjects(Graph& graph, Objects* objects);
  // Updates the nodes of `from`, which is the definition or an inner graph,
  // from the nodes of `to`. Fails as Update.
  CUresult UpdateLocked(const Graph& from, const Graph& to,
                        CUgraphExecUpdateResultInfo* info)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Update the first node of each pair from the second node. ReplaceLocked
  // changes the program in place; steps[i] becomes the step of pair i.
  // RebuildWithLocked makes a new program. On an error nothing has changed.
  CUresult ReplaceLocked(const std::vector<NodePair>& pairs,
                         std::vector<std::shared_ptr<const Step>> steps)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CUresult RebuildWithLocked(const std::vector<NodePair>& pairs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const MemoryMap& memory_;
  const cuuint64_t flags_;
  Mutex mutex_;
  const std::shared_ptr<Graph> definition_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Program> program_ ABSL_GUARDED_BY(mutex_);
  Program::Index index_ ABSL_GUARDED_BY(mutex_);  // of the definition's nodes
  // The definition's nodes by their origin. FindLocked fills the map.
  std::unordered_map<CUgraphNode, GraphNode*> by_origin_
      ABSL_GUARDED_BY(mutex_);
  Ticket last_launch_ ABSL_GUARDED_BY(mutex_);
  // Allocations of the definition with its inner graphs.
  GraphAllocations allocations_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<GraphCondition>> conditions_
      ABSL_GUARDED_BY(mutex_);
  // Launches share the user objects. A user object is destroyed while a caller
  // holds the lock of definitions, or at the end of a launch.
  std::shared_ptr<const Objects> objects_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_EXEC_H_
