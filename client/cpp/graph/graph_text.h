// SPDX-License-Identifier: Apache-2.0
//
// Describes a graph definition as text, or as a drawing in DOT, without the
// daemon. Graph::Draw returns the daemon's drawing of a graph.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_TEXT_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "client/cpp/graph/definition/graph_definition.h"

namespace holdfast {

// Names of kernels, buffers and events, by handle. A handle without a name is
// shown as a number: "buffer 3".
struct GraphNames {
  absl::flat_hash_map<uint64_t, std::string> kernels;
  absl::flat_hash_map<uint64_t, std::string> buffers;
  absl::flat_hash_map<uint64_t, std::string> events;
};

// Returns one line for each node; the nodes of nested graphs are indented:
//
//   1: fill 4096 bytes of x with 0x00
//   2: launch step, grid 16, block 256, with (x, 0.5) after 1
//   3: while condition 1 after 2
//     body
//       1: launch halve, grid 1, block 32, with (x, condition 1)
std::string ToString(const GraphDefinition& definition,
                     const GraphNames& names = {});

// Returns the definition in DOT, for `dot -Tsvg`. A nested graph is a box; a
// dashed edge leads to it from its node.
std::string ToDot(const GraphDefinition& definition,
                  const GraphNames& names = {},
                  absl::string_view title = "graph");

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_TEXT_H_
