// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_

#include <string>

#include "server/executor/graph/built_graph.h"

namespace holdfast::executor {

// Returns the graph in the DOT language, with the words of cuGraphDebugDotPrint
// ("KERNEL", "MEMCPY") but without addresses. If `verbose`, the text contains
// the parameters of the nodes. The driver's function cannot be used, because it
// writes to a path, and an executor in its sandbox can open no file.
std::string Draw(const BuiltGraph& graph, bool verbose);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_
