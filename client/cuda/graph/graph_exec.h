// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_EXEC_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_EXEC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/graph/node_updates.h"
#include "client/cuda/context.h"
#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/graph/program.h"
#include "client/cuda/process.h"
#include "core/cuda/user_object.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The reason why a graph could not be instantiated.
struct InstantiationError {
  CUgraphNode node = nullptr;  // of the program's graph; null: unknown
  bool has_unused_condition = false;
};

// A CUgraphExec: a copy of a definition, and the daemon's graphs that were made
// from it. Changes apply to later launches. A change is sent without waiting,
// unless all of the daemon's graphs must be made again. Thread-safe.
class GraphExec {
 public:
  // `definition` is a copy of the program's graph that only this object uses.
  // Waits for the daemon.
  static CUresult Create(Process& process, const Context& context,
                         std::shared_ptr<Graph> definition, cuuint64_t flags,
                         std::shared_ptr<GraphExec>* exec,
                         InstantiationError* error);
  // Launches that were submitted before are still carried out.
  ~GraphExec();

  cuuint64_t flags() const { return flags_; }

  // Enqueues one run after the stream's work and after earlier launches. Fails
  // as GraphMemory::Begin.
  CUresult Launch(Stream& stream);
  // Sends the graph to the device before its next launch, in the stream's
  // order.
  CUresult Upload(Stream& stream);

  // Change or read the state of a node, which is named by its handle in the
  // program's graph. CUDA_ERROR_INVALID_VALUE: the graph did not have the node,
  // or CUDA does not allow the change.
  CUresult SetWork(CUgraphNode node, NodeWork work);
  CUresult SetEnabled(CUgraphNode node, bool enabled);
  CUresult GetEnabled(CUgraphNode node, bool* enabled);
  // Replaces the work of a child node's graph by the work of `graph`, which
  // must have the same topology. Fails as Update.
  CUresult SetChild(CUgraphNode node, const Graph& graph);
  // Implements cuGraphExecUpdate: updates all nodes, or none. The user objects
  // that the program gave `graph` replace the user objects of the definition.
  // Waits for the daemon.
  CUresult Update(const Graph& graph, CUgraphExecUpdateResultInfo* info);

 private:
  using Steps = std::vector<Stage::Step>;
  struct RunStage {
    std::optional<holdfast::GraphExec> graph;  // null: it would be empty
    std::shared_ptr<const Steps> steps;        // launches share them
  };
  using Places = std::unordered_map<const Node*, Program::Place>;
  // Changes to several nodes that are made together.
  struct StageUpdates {
    std::map<size_t, NodeUpdates> nodes;  // by stage
    Steps steps;  // each takes the place of the step of its node
  };
  using LoweredNodes = std::vector<std::pair<const Node*, LoweredWork>>;
  // The work of a node before an update, with the conditions of its graphs.
  struct WorkBefore {
    Node* node = nullptr;
    NodeWork work;
    std::vector<std::vector<std::shared_ptr<Condition>>> conditions;
  };
  using AllWorkBefore = std::vector<WorkBefore>;
  // The user objects that the definition and its inner graphs keep.
  using Objects = std::map<const Graph*, cuda::UserReferences>;

  GraphExec(Process& process, std::shared_ptr<Graph> definition,
            cuuint64_t flags)
      : process_(process), flags_(flags), definition_(std::move(definition)) {}

  // Makes the daemon's graphs from the definition. If they cannot be made, the
  // old graphs stay.
  CUresult Make(const Node** culprit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CUresult MakeStages(std::vector<Stage> stages,
                      std::vector<RunStage>* run_stages)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Disables, in new graphs of the daemon, the nodes that are disabled here.
  static absl::Status SwitchNodesOff(const Places& places,
                                     const std::vector<RunStage>& stages);
  CUresult MakeAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next launch wait for the stream's work so far: the daemon orders
  // only launches of the same graph.
  absl::Status RecordEnd(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RunOn(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Moves the objects of a graph and of its inner graphs to *objects.
  static void TakeObjects(Graph& graph, Objects* objects);
  // Returns the objects of `before` of which `after` has no reference.
  static Objects Dropped(Objects before, const Objects& after);
  // Keeps user objects and memory, which the launches so far may use, until
  // these launches have ended. Does nothing if there is nothing to keep.
  // Enqueues a host function on the stream of the last launch, whose later work
  // therefore waits for this process. If that stream was destroyed, waits for
  // all work of the session.
  void KeepForLaunches(Objects objects, LaunchAllocations::List memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Finds a node by its handle in the program's graph; null: not found.
  Node* Find(CUgraphNode origin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectAllocations(const Graph& graph)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds a node's new work to *updates. Returns false if all of the daemon's
  // graphs must be made again instead.
  bool AddUpdate(const Node& node, LoweredWork lowered, StageUpdates* updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Send(const StageUpdates& updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReplaceSteps(const StageUpdates& updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // *retired receives objects that are to be dropped without the lock.
  CUresult UpdateFrom(const Graph& before, const Graph& after,
                      CUgraphExecUpdateResultInfo* info, Objects* retired)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the nodes of `before` the work of `after`. *replaced receives the
  // work that the nodes had. *anew is true if all of the daemon's graphs must
  // be made again; else *lowered receives the changes. *objects receives the
  // user objects of `after`, by the graphs of `before`.
  CUresult TakeAllWork(const Graph& before, const Graph& after,
                       CUgraphExecUpdateResultInfo* info, LoweredNodes* lowered,
                       bool* anew, AllWorkBefore* replaced, Objects* objects)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Restores the work of nodes after a failed update. Such an update has
  // changed nothing in the daemon.
  static void PutBack(AllWorkBefore replaced);
  // Makes all changes, or none. Waits for the daemon.
  CUresult SendAll(LoweredNodes lowered) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Process& process_;
  const cuuint64_t flags_;
  absl::Mutex mutex_;
  const std::shared_ptr<Graph> definition_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<CUgraphNode, Node*> by_origin_ ABSL_GUARDED_BY(mutex_);
  Places places_ ABSL_GUARDED_BY(mutex_);
  std::vector<RunStage> stages_ ABSL_GUARDED_BY(mutex_);
  LaunchAllocations allocations_ ABSL_GUARDED_BY(mutex_);
  Objects objects_ ABSL_GUARDED_BY(mutex_);
  // The stream for commands of actions; null: there are no actions. Shared by
  // launches.
  std::shared_ptr<const holdfast::Stream> side_ ABSL_GUARDED_BY(mutex_);
  std::optional<Event> end_ ABSL_GUARDED_BY(mutex_);
  uint32_t end_device_ ABSL_GUARDED_BY(mutex_) = 0;
  bool end_is_recorded_ ABSL_GUARDED_BY(mutex_) = false;
  // The stream of the last launch. The program may have destroyed the stream
  // while launches are in flight.
  std::weak_ptr<Stream> last_stream_ ABSL_GUARDED_BY(mutex_);
  bool was_launched_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t device_ ABSL_GUARDED_BY(mutex_) = 0;  // of side_
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_GRAPH_EXEC_H_
