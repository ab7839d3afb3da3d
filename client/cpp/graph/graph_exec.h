// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/graph/node_updates.h"
#include "client/cpp/state/resource.h"
#include "client/cpp/stream.h"

namespace holdfast {

class Graph;

struct GraphExecOptions {
  // The flag CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, for programs that
  // set it. It has no effect: a graph's memory is allocated with the graph, so
  // that launches neither allocate nor leak memory.
  bool auto_free_on_launch = false;
  // Launches keep the priority of their nodes, not the stream's.
  bool use_node_priority = false;
};

// An executable graph. Made by Graph::Instantiate; may outlive the graph. Its
// launches run one after the other, even on different streams. The destructor
// does not wait: earlier launches are carried out.
class GraphExec : public Resource {
 public:
  static absl::StatusOr<GraphExec> Create(std::shared_ptr<SessionState> session,
                                          uint64_t graph,
                                          const GraphExecOptions& options);

  // Launches the graph as one operation of the stream.
  absl::Status Launch(const Stream& stream) const;
  // Uploads the graph to the device, so that its first launch is as fast as
  // later launches.
  absl::Status Upload(const Stream& stream) const;

  // These methods change later launches, not earlier ones. If a change is
  // refused, nothing changes: the next call that waits reports
  // FAILED_PRECONDITION with the driver's reason and the node.
  //
  // Takes all parameters from a graph with the same topology.
  absl::Status Update(const Graph& graph) const;
  // Changes the parameters of one node. The new parameters are of the same
  // kind.
  absl::Status Update(GraphNode node, NodeParams params) const;
  // Disables or enables a node that launches, copies or fills. A disabled node
  // does nothing, and keeps its place in the order.
  absl::Status SetEnabled(GraphNode node, bool enabled) const;
  // Changes several nodes at once, or nodes inside child graphs.
  absl::Status Update(const NodeUpdates& updates) const;

 private:
  explicit GraphExec(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_
