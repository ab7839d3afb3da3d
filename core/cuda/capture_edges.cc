// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/capture_edges.h"

#include "core/cuda/graph_edges.h"

namespace holdfast::cuda {

void MergeEdges(const CaptureEdges& from, CaptureEdges* to) {
  for (const CaptureEdge& edge : from) {
    const bool is_known = std::any_of(
        to->begin(), to->end(),
        [&](const CaptureEdge& known) { return known.node == edge.node; });
    if (!is_known) to->push_back(edge);
  }
}

bool AreAllPlain(const CaptureEdges& edges) {
  return std::all_of(edges.begin(), edges.end(), [](const CaptureEdge& edge) {
    return IsPlain(edge.data);
  });
}

}  // namespace holdfast::cuda
