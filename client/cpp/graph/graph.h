// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/session.h"
#include "client/cpp/state/resource.h"

namespace holdfast {

// A graph that the daemon has made from a definition. It keeps the resources of
// its nodes until the graph and all its instances are destroyed. As with other
// resources, the next call that waits reports a failure, with the path of the
// node ("node 7, branch 0, node 3").
class Graph : public Resource {
 public:
  // Makes a graph. Does not wait.
  static absl::StatusOr<Graph> Create(const Session& session,
                                      const GraphDefinition& definition);

  // Makes a copy of this graph. Does not wait. Graphs with allocations cannot
  // be cloned.
  absl::StatusOr<Graph> Clone() const;

  // Makes an executable instance, which may outlive this graph. Does not wait.
  absl::StatusOr<GraphExec> Instantiate(
      const GraphExecOptions& options = {}) const;

  // Returns the driver's drawing of the graph in DOT, without addresses; with
  // the parameters of the nodes if `verbose`. Waits.
  absl::StatusOr<std::string> Draw(bool verbose = false) const;

 private:
  explicit Graph(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_
