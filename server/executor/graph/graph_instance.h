// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_INSTANCE_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/graph.h"
#include "core/cuda/stream.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "server/account/quota.h"
#include "server/executor/graph/built_graph.h"

namespace holdfast::executor {

// An instantiated graph and the changes of its nodes. Keeps alive the resources
// that its nodes use. Not thread-safe: belongs to the submission thread.
//
// A new instance has the parameters of its BuiltGraph. Updates change nodes in
// place. An update is checked as a whole before it changes a node, and is
// undone if the driver refuses a node.
class GraphInstance {
 public:
  // Instantiates a graph; see the command InstantiateGraph. The result must be
  // given up with Release. RESOURCE_EXHAUSTED: the session would exceed its
  // limit of graph nodes. Otherwise returns the driver's error, with the node.
  static absl::StatusOr<std::shared_ptr<GraphInstance>> Create(
      Resources& resources, std::shared_ptr<const BuiltGraph> graph,
      const v1::InstantiateGraph& options);

  // Ends the instance, without blocking. Its launches still run, and their
  // resources are released afterwards. REQUIRES: no other owner uses the
  // instance any more.
  static void Release(Resources& resources,
                      std::shared_ptr<GraphInstance> instance);

  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;

  // Enqueues the upload of the graph to the device, so that the first launch
  // need not do it.
  absl::Status Upload(const cuda::Stream& stream);
  // Enqueues a launch of the graph, counts its copies, and marks its events as
  // recorded. `handle` is the handle of the stream. FAILED_PRECONDITION: a
  // device has lost its access to memory that a node uses. RESOURCE_EXHAUSTED:
  // too many waits for semaphores are pending.
  absl::Status Launch(Resources& resources, const cuda::Stream& stream,
                      uint64_t handle);

  // The names of kernels that a launch may run.
  const std::vector<std::string>& kernels() const { return kernels_.names(); }

  // Gives all nodes of the instance the parameters of `graph`. Fails as
  // BuiltGraph::CheckSameShape, or with the driver's error. After an error
  // nothing is changed.
  absl::Status Update(Resources& resources,
                      std::shared_ptr<const BuiltGraph> graph);
  // Changes single nodes. After an error no node is changed; each error names
  // its node. NOT_FOUND: there is no such node. INVALID_ARGUMENT: the change
  // does not fit the node. FAILED_PRECONDITION: CUDA cannot make the change in
  // place. Otherwise fails as ToNode.
  absl::Status Update(Resources& resources,
                      const v1::GraphNodeUpdates& updates);

 private:
  // The resources of one update, shared by the nodes that it has changed. They
  // are kept alive until each of these nodes has been changed again. The
  // journal relies on this, because it may have a single step for an update
  // (journal/journal_step.h).
  using SharedHolds = std::shared_ptr<HoldSet>;

  // The difference of one node from current_.
  struct Change {
    std::optional<cuda::GraphNode> parameters;
    NodeUses uses;
    SharedHolds holds;
    bool enabled = true;
  };
  // One update of a node, looked up and checked.
  struct PreparedUpdate {
    const BuiltNode* node = nullptr;     // in source_
    const BuiltNode* current = nullptr;  // in current_
    std::optional<cuda::GraphNode> parameters;
    NodeUses uses;
    bool enabled = true;    // if there are no parameters
    bool is_change = true;  // false: the driver's node is the same already
  };

  GraphInstance() = default;

  // Looks up and checks all updates; changes nothing.
  absl::Status PrepareAll(Resources& resources,
                          const v1::GraphNodeUpdates& updates, HoldSet* holds,
                          std::vector<PreparedUpdate>* prepared) const;
  absl::Status Prepare(Resources& resources, const v1::GraphNodeUpdate& update,
                       HoldSet* holds, PreparedUpdate* prepared) const;
  absl::Status PrepareParameters(Resources& resources,
                                 const v1::GraphNode& changed, HoldSet* holds,
                                 PreparedUpdate* prepared) const;
  // Finds the node of an update, also in child graphs. NOT_FOUND: there is no
  // such node.
  absl::Status Locate(const v1::GraphNodeUpdate& update,
                      PreparedUpdate* prepared) const;
  // Returns the change of the node; null if it has none.
  const Change* FindChange(const BuiltNode& node) const {
    return node.position < changes_.size() ? changes_[node.position].get()
                                           : nullptr;
  }
  // Returns the change of the node, after making an empty one if it has none.
  Change& ChangeOf(const BuiltNode& node);
  // Returns the parameters that the driver's node has now.
  const cuda::GraphNode& ParametersOf(const PreparedUpdate& update) const;
  // Changes the driver's node. FAILED_PRECONDITION: the driver cannot change it
  // in place.
  absl::Status Apply(const PreparedUpdate& update);
  // Restores the parameters of the driver's node. Logs a failure.
  void Undo(const PreparedUpdate& update);
  // Records the change. Returns true if SumUses must be called.
  bool Commit(PreparedUpdate&& update, const SharedHolds& holds,
              std::vector<Hold>* released);
  // Gives up a change's share of `holds`. If it is the last, appends the holds
  // to `released`, which the caller releases.
  static void Release(SharedHolds holds, std::vector<Hold>* released);
  // Collects the events, devices, waits and kernels of a launch.
  void SumUses();
  // Enqueues a launch and reports its waits. Fails only if it enqueues nothing.
  absl::Status LaunchWithWaits(Resources& resources, const cuda::Stream& stream,
                               uint64_t handle);

  // exec_ was made from source_, so the node handles of source_ name the nodes
  // of exec_. The parameters of exec_ are the parameters of current_, which has
  // the same topology, with changes_ applied.
  std::shared_ptr<const BuiltGraph> source_;
  std::shared_ptr<const BuiltGraph> current_;
  // The changes by the node's position; null if the node has no change. Empty
  // until the first change.
  std::vector<std::unique_ptr<Change>> changes_;
  std::vector<std::shared_ptr<cuda::Event>> recorded_;
  std::vector<std::pair<uint32_t, uint32_t>> peers_;
  absl::flat_hash_map<uint32_t, AwaitedValue> awaited_;  // by node's position
  KernelNames kernels_;
  Charge charge_;  // of graph nodes
  std::unique_ptr<cuda::GraphExec> exec_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_GRAPH_INSTANCE_H_
