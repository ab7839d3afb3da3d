// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_
#define HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_

#include <string>

#include "server/executor/graph/built_graph.h"

namespace holdfast::executor {

// Returns the graph in DOT, in the words of cuGraphDebugDotPrint ("KERNEL",
// "MEMCPY"), without addresses; with the parameters of its nodes if `verbose`.
// The driver itself cannot be asked: it writes to a path, and a confined
// executor can open none.
std::string Draw(const BuiltGraph& graph, bool verbose);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_GRAPH_DRAWING_H_
