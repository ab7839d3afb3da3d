// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/graph/graph_definition.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/resource.h"
#include "client/cpp/session.h"

namespace holdfast {

// A definition that the daemon has checked and made. It keeps what its nodes
// name until it, and all that was instantiated from it, are destroyed.
// Commands, as those of other resources: what fails is reported by the next
// call that waits, with the path of the node ("node 7, branch 0, node 3").
class Graph : public Resource {
 public:
  static absl::StatusOr<Graph> Create(const Session& session,
                                      const GraphDefinition& definition);

  // A second graph like this one. Graphs with allocations cannot be cloned.
  absl::StatusOr<Graph> Clone() const;

  // A graph that is ready to run; it lives on when this one is destroyed.
  absl::StatusOr<GraphExec> Instantiate(
      const GraphExecOptions& options = {}) const;

  // The graph as the driver draws it, in DOT, without addresses; `verbose` with
  // the parameters of the nodes. Waits.
  absl::StatusOr<std::string> Draw(bool verbose = false) const;

 private:
  explicit Graph(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_H_
