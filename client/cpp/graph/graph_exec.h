// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/graph/node_updates.h"
#include "client/cpp/resource.h"
#include "client/cpp/stream.h"

namespace holdfast {

class Graph;

struct GraphExecOptions {
  // CUDA's flag, for programs that set it. No effect: a graph's memory is made
  // with the graph, so that no launch allocates and none leaves memory behind.
  bool auto_free_on_launch = false;
  // Launches keep the priority of their nodes, not the stream's.
  bool use_node_priority = false;
};

// A graph that is ready to run. Made by Graph::Instantiate; lives on when the
// graph is destroyed. Launches of it run one after the other, whatever their
// streams. Destroying it does not wait: launches that were given before are
// carried out.
class GraphExec : public Resource {
 public:
  static absl::StatusOr<GraphExec> Create(std::shared_ptr<SessionState> session,
                                          uint64_t graph,
                                          const GraphExecOptions& options);

  // Runs the graph, as one operation of the stream.
  absl::Status Launch(const Stream& stream) const;
  // Brings to the device what the next launch needs, so that it is as fast as
  // those after it.
  absl::Status Upload(const Stream& stream) const;

  // Changes what later launches do; those that were given before are not
  // touched. If a change is refused, nothing has changed: the next call that
  // waits reports FAILED_PRECONDITION with the driver's reason and the node.
  //
  // Everything, from a graph of the same topology.
  absl::Status Update(const Graph& graph) const;
  // The parameters of one node, by some of the same kind.
  absl::Status Update(GraphNode node, NodeParams params) const;
  // Launches, copies and fills can be disabled: they do nothing then, but are
  // waited for.
  absl::Status SetEnabled(GraphNode node, bool enabled) const;
  // Many at once, or of nodes inside child graphs.
  absl::Status Update(const NodeUpdates& updates) const;

 private:
  explicit GraphExec(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_EXEC_H_
