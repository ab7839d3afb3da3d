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

// Why a graph could not be instantiated.
struct InstantiationError {
  CUresult result = CUDA_SUCCESS;
  CUgraphNode node = nullptr;  // of the application's graph
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
  // return CUDA_ERROR_INVALID_VALUE if the graph did not have the node.

  // Replaces the work of a node. CUDA_ERROR_INVALID_VALUE: also for a
  // change that CUDA does not allow.
  CUresult SetWork(CUgraphNode node, NodeWork work);
  // CUDA_ERROR_INVALID_VALUE: also for a node that is not a kernel, copy or
  // fill.
  CUresult SetEnabled(CUgraphNode node, bool enabled);
  CUresult GetEnabled(CUgraphNode node, bool* enabled);
  // Replaces the graph of a child node by one of the same topology.
  CUresult SetChild(CUgraphNode node, const Graph& graph);

  // cuGraphExecUpdate. All nodes are updated, or none. The application's
  // objects of `graph` replace those of the definition.
  CUresult Update(const Graph& graph, CUgraphExecUpdateResultInfo* info);

 private:
  using NodePair = cuda::NodePair<GraphNode>;
  // The application's objects that graphs keep: the definition and its inner
  // graphs.
  using Objects = std::map<const Graph*, cuda::UserReferences>;

  GraphExec(std::shared_ptr<Graph> definition, const MemoryMap& memory,
            cuuint64_t flags);

  // Finds a node by its handle in the application's graph; null: not found.
  GraphNode* FindLocked(CUgraphNode origin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replaces the program by a copy if a launch uses it, so that the program can
  // be changed.
  CUresult MakeWritableLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Builds a new program from the definition. On an error the old program
  // stays, with all that belongs to it.
  CUresult RebuildLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: MakeWritableLocked, if the entry is to be changed.
  Program::Entry& EntryLocked(const GraphNode* node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends the conditions and allocations of a graph and of its inner graphs.
  void CollectLocked(const Graph& graph) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the objects of a graph and of its inner graphs to *objects.
  static void TakeObjects(Graph& graph, Objects* objects);
  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE has the reason in *info.
  CUresult UpdateLocked(const Graph& from, const Graph& to,
                        CUgraphExecUpdateResultInfo* info)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Update the first node of each pair from the second. ReplaceLocked changes
  // the program in place, with these steps. RebuildWithLocked makes a new
  // program. On an error nothing has changed.
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
  // The definition's nodes by their origin; made when first needed.
  std::unordered_map<CUgraphNode, GraphNode*> by_origin_
      ABSL_GUARDED_BY(mutex_);
  Ticket last_launch_ ABSL_GUARDED_BY(mutex_);
  // Allocations of the definition with its inner graphs.
  GraphAllocations allocations_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<GraphCondition>> conditions_
      ABSL_GUARDED_BY(mutex_);
  // Launches share them. An object ends under the lock of definitions, or with
  // a launch.
  std::shared_ptr<const Objects> objects_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_EXEC_H_
