// SPDX-License-Identifier: Apache-2.0
//
// The dependencies of streams that are captured into graphs.
#ifndef HOLDFAST_CORE_CUDA_CAPTURE_EDGES_H_
#define HOLDFAST_CORE_CUDA_CAPTURE_EDGES_H_

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// A node on which the next node of a stream depends. Named by its handle,
// because the program may destroy the node during the capture.
struct CaptureEdge {
  CUgraphNode node = nullptr;
  CUgraphEdgeData data{};
};
using CaptureEdges = std::vector<CaptureEdge>;

// Adds the edges of `from` to *to, except edges from nodes that *to already
// has.
void MergeEdges(const CaptureEdges& from, CaptureEdges* to);

bool AreAllPlain(const CaptureEdges& edges);

// Returns the edges whose nodes are still there, as edges of the driver's own.
template <typename Edge, typename NodeTable>
std::vector<Edge> FindNodes(const NodeTable& nodes, const CaptureEdges& edges) {
  std::vector<Edge> found;
  for (const CaptureEdge& edge : edges) {
    const auto node = nodes.Find(edge.node);
    if (node != nullptr) found.push_back({node.get(), edge.data});
  }
  return found;
}

// Returns true if all that other streams have captured comes before what
// `origin`, the stream that began the capture, waits for.
template <typename Edge, typename NodeTable, typename Capture,
          typename StreamCapture>
bool AreAllJoined(const NodeTable& nodes, const Capture& capture,
                  const StreamCapture& origin) {
  std::unordered_set<decltype(Edge::node)> before;
  std::vector<decltype(Edge::node)> open;
  const auto add = [&](const std::vector<Edge>& edges) {
    for (const Edge& edge : edges) {
      if (before.insert(edge.node).second) open.push_back(edge.node);
    }
  };
  add(FindNodes<Edge>(nodes, origin.edges));
  while (!open.empty()) {
    const auto node = open.back();
    open.pop_back();
    add(node->dependencies);
  }
  const auto is_joined = [&](const CaptureEdges& ends) {
    const std::vector<Edge> found = FindNodes<Edge>(nodes, ends);
    return std::all_of(found.begin(), found.end(), [&](const Edge& edge) {
      return before.count(edge.node) > 0;
    });
  };
  return is_joined(capture.ends) &&
         std::all_of(capture.streams.begin(), capture.streams.end(),
                     [&](const auto& weak) {
                       const auto stream = weak.lock();
                       return stream == nullptr || stream->capture == nullptr ||
                              is_joined(stream->capture->edges);
                     });
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CAPTURE_EDGES_H_
