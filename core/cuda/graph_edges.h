// SPDX-License-Identifier: Apache-2.0
//
// Reads and returns the nodes and edges of graphs in the arguments of CUDA
// calls. `Edge` is the driver's type of edge: the node at its other end, and
// its data.
#ifndef HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_
#define HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// Returns true if the edge is a full dependency, without ports or a type.
bool IsPlain(const CUgraphEdgeData& data);

// Appends to *edges an edge for each of the `count` nodes `handles`, with the
// data `data`; null: all edges are plain. Returns false if a handle is no node
// of the table, or if `handles` is null and `count` is not 0.
template <typename NodeTable, typename Edge>
bool FindEdges(const NodeTable& nodes, const CUgraphNode* handles,
               const CUgraphEdgeData* data, size_t count,
               std::vector<Edge>* edges) {
  if (handles == nullptr && count > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const auto node = nodes.Find(handles[i]);
    if (node == nullptr) return false;
    edges->push_back(
        {node.get(), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return true;
}

// Copies a list to the program's array `place`, which has `room` elements, as
// CUDA does: copies as many values as fit, and sets the remaining elements to
// zero. Does nothing if `place` is null.
template <typename Value>
void Deliver(const std::vector<Value>& values, Value* place, size_t room) {
  if (place == nullptr) return;
  const size_t count = std::min(room, values.size());
  std::copy_n(values.begin(), count, place);
  std::fill(place + count, place + room, Value{});
}

// Copies nodes to the program's array `place`, as Deliver does. `*count` is the
// number of elements of the array; sets it to the number of copied nodes, or to
// the number of all nodes if `place` is null. CUDA_ERROR_INVALID_VALUE: `count`
// is null.
CUresult DeliverNodes(const std::vector<CUgraphNode>& nodes, CUgraphNode* place,
                      size_t* count);

// Copies the nodes at the other ends of edges to `nodes`, and the edges' data
// to `data`, as DeliverNodes does. CUDA_ERROR_INVALID_VALUE: `count` is null,
// or only `nodes` is null. CUDA_ERROR_LOSSY_QUERY: `data` is null, and an edge
// is not plain.
template <typename Edge>
CUresult DeliverEdges(const std::vector<Edge>& edges, CUgraphNode* nodes,
                      CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (nodes == nullptr && data != nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<CUgraphNode> ends;
  std::vector<CUgraphEdgeData> all_data;
  for (const Edge& edge : edges) {
    if (nodes != nullptr && data == nullptr && !IsPlain(edge.data)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    ends.push_back(edge.node->handle);
    all_data.push_back(edge.data);
  }
  Deliver(all_data, data, *count);
  return DeliverNodes(ends, nodes, count);
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_
