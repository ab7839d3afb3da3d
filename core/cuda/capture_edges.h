// SPDX-License-Identifier: Apache-2.0
//
// The dependencies of streams that are captured into graphs. Used by the
// software driver and by client/cuda, which have different types of nodes and
// captures.
#ifndef HOLDFAST_CORE_CUDA_CAPTURE_EDGES_H_
#define HOLDFAST_CORE_CUDA_CAPTURE_EDGES_H_

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// A dependency of the next node of a stream that is captured. Names the node by
// its handle, because the program may destroy the node during the capture.
struct CaptureEdge {
  CUgraphNode node = nullptr;
  CUgraphEdgeData data{};
};
using CaptureEdges = std::vector<CaptureEdge>;

// Adds the edges of `from` to *to, except edges from nodes that *to already
// has.
void MergeEdges(const CaptureEdges& from, CaptureEdges* to);

// Returns true if IsPlain (graph_edges.h) is true for all edges.
bool AreAllPlain(const CaptureEdges& edges);

// Returns the edges whose nodes still exist, as the driver's own type of edge.
template <typename Edge, typename NodeTable>
std::vector<Edge> FindNodes(const NodeTable& nodes, const CaptureEdges& edges) {
  std::vector<Edge> found;
  for (const CaptureEdge& edge : edges) {
    const auto node = nodes.Find(edge.node);
    if (node != nullptr) found.push_back({node.get(), edge.data});
  }
  return found;
}

// Returns true if all streams of the capture have joined: if `origin`, the
// state of the stream that began the capture, depends on the last nodes of
// every other stream, directly or through other nodes.
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
