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

// An instantiated graph, and what has been changed in it since. Keeps all that
// its nodes use. Belongs to the submission thread.
//
// Made of a BuiltGraph, whose parameters it has at first. Updates change nodes
// in place; each is checked as a whole before the first node is changed, and
// taken back if the driver refuses one in the middle.
class GraphInstance {
 public:
  // As InstantiateGraph. RESOURCE_EXHAUSTED: over the session's limit of graph
  // nodes.
  static absl::StatusOr<std::shared_ptr<GraphInstance>> Create(
      Resources& resources, std::shared_ptr<const BuiltGraph> graph,
      const v1::InstantiateGraph& options);

  // Ends it. Launches are still carried out; what they use is freed after them.
  static void Release(Resources& resources,
                      std::shared_ptr<GraphInstance> instance);

  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;

  // So that the first launch finds the graph on the device.
  absl::Status Upload(const cuda::Stream& stream);
  // `handle` is the stream's. FAILED_PRECONDITION: a device has no access any
  // more to memory that a node uses. RESOURCE_EXHAUSTED: too many waits for
  // semaphores are pending. Also counts the graph's copies, and marks its
  // events as recorded.
  absl::Status Launch(Resources& resources, const cuda::Stream& stream,
                      uint64_t handle);

  // Names of kernels that a launch may run.
  const std::vector<std::string>& kernels() const { return kernels_.names(); }

  // As UpdateGraphExec: either all is changed, or nothing. The graph has to
  // have the same shape; see BuiltGraph::CheckSameShape.
  absl::Status Update(Resources& resources,
                      std::shared_ptr<const BuiltGraph> graph);
  // NOT_FOUND, INVALID_ARGUMENT or FAILED_PRECONDITION name the node.
  absl::Status Update(Resources& resources,
                      const v1::GraphNodeUpdates& updates);

 private:
  // Shared by the nodes that one update has changed: what it keeps is kept
  // until each of them has been changed again. The journal counts on that,
  // which has one step of an update (journal/journal_step.h).
  using SharedHolds = std::shared_ptr<HoldSet>;

  // How one node differs from the graph whose parameters the instance has.
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
    bool is_change = true;  // false: the driver's node is like that already
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
  // Finds the node that an update names, through child graphs. NOT_FOUND: it is
  // not there.
  absl::Status Locate(const v1::GraphNodeUpdate& update,
                      PreparedUpdate* prepared) const;
  // Null: the node has none.
  const Change* FindChange(const BuiltNode& node) const {
    return node.position < changes_.size() ? changes_[node.position].get()
                                           : nullptr;
  }
  Change& ChangeOf(const BuiltNode& node);
  // The parameters that the driver's node has.
  const cuda::GraphNode& ParametersOf(const PreparedUpdate& update) const;
  // Changes the driver's node. FAILED_PRECONDITION: it cannot be changed in
  // place.
  absl::Status Apply(const PreparedUpdate& update);
  // Gives the driver's node back what it had. Logs a failure.
  void Undo(const PreparedUpdate& update);
  // Returns true if SumUses is to be called.
  bool Commit(PreparedUpdate&& update, const SharedHolds& holds,
              std::vector<Hold>* released);
  // Gives up a change's share of `holds`.
  static void LetGo(SharedHolds holds, std::vector<Hold>* released);
  // Adds up what launches depend on: events, devices, waits, kernels.
  void SumUses();
  // A launch was given to the stream: its waits may stand there.
  absl::Status ReportWaits(Resources& resources, const cuda::Stream& stream,
                           uint64_t handle);

  // The nodes of source_ name those of exec_. The parameters are those of
  // current_, which has the same topology, but for changes_.
  std::shared_ptr<const BuiltGraph> source_;
  std::shared_ptr<const BuiltGraph> current_;
  // By the node's position; null: it has none. Empty until the first.
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
